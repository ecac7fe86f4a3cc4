// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/shared_flows/cluster_client.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/core.h>
#include <poll.h>

#include "appliance/shared_flows/redis_function.h"
#include "base/os/clock.h"
#include "base/utf8.h"

namespace unecho::shared_flows {
namespace {

constexpr Nanoseconds kFirstBackoff = 100 * kMillisecond;
constexpr Nanoseconds kLongestBackoff = 5 * kSecond;
// Intervals of queries for the masters: usually, and while one does not answer.
constexpr Nanoseconds kMapLasts = 10 * kSecond;
constexpr Nanoseconds kMapLastsInTrouble = 300 * kMillisecond;
// The least pause for a slot that moves or a master that loads. It also slows down nodes that
// redirect in circles.
constexpr Nanoseconds kAgain = 20 * kMillisecond;
// A master that was ready for so long starts anew with its backoff.
constexpr Nanoseconds kWell = kLongestBackoff;
// A ready master that has answered nothing for so long makes no progress.
constexpr Nanoseconds kStands = 100 * kMillisecond;
constexpr std::size_t kTakenAtOnce = 4096;  // from all feeds
constexpr unsigned kUnderway = 2;           // batches of a tag

constexpr std::size_t kMaxText = 400;  // of a reply, in a message

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

std::string quoted(std::string_view text) {
    return shortened(escaped(text.substr(0, 10 * kMaxText)), kMaxText);
}

// Return true for errors that pass: slots on their way, a node that is no master yet. Repeat the
// query.
bool passes(std::string_view error) {
    return error.starts_with("ASK ") || error.starts_with("TRYAGAIN") ||
           error.starts_with("LOADING") || error.starts_with("CLUSTERDOWN") ||
           error.starts_with("MASTERDOWN") || error.starts_with("READONLY") ||
           error.starts_with("BUSY ") || has(error, "non local key");
}

}  // namespace

ClusterClient::ClusterClient(Layout layout, ClusterClientSpec spec, std::vector<FlowFeed*> feeds,
                             Log log)
    : layout_(std::move(layout)),
      spec_(std::move(spec)),
      feeds_(std::move(feeds)),
      log_(std::move(log)),
      numbers_{std::to_string(layout_.span_ms()), std::to_string(kGenerations),
               std::to_string(layout_.width()),
               std::to_string(kPageFlows * kMaxPageFlows * layout_.width()),
               layout_.spec().refresh ? "1" : "0"} {}

ClusterClient::~ClusterClient() = default;

void ClusterClient::say(Severity severity, const std::string& line) const {
    log_({severity, "root", fmt::format("root \"{}\": {}", layout_.spec().name, line)});
}

// --- a step ------------------------------------------------------------------------------------

Status ClusterClient::contact(Nanoseconds patience) {
    const Nanoseconds deadline = steady_now() + patience;
    refusal_.reset();
    while (!refusal_) {
        step(kMillisecond);
        if (all_answer()) {
            return {};
        }
        if (steady_now() >= deadline) {
            return fail(Errc::kIo,
                        fmt::format("no answer of all its masters within {}{}",
                                    format_duration(patience), loss_.empty() ? "" : ": " + loss_));
        }
    }
    return tl::unexpected(*refusal_);
}

void ClusterClient::step(Nanoseconds longest) {
    const Nanoseconds now = steady_now();
    forget_nodes();
    give_up_old(now);
    gather(now);
    find_masters(now);
    send_batches(now);
    wait(longest);
    check_timeouts(steady_now());
    count_masters();
}

// Close nodes without tags once nothing is on its way. Forget them if they outnumber the others.
void ClusterClient::forget_nodes() {
    if (map_.masters().empty()) {
        return;
    }
    for (auto& [at, node] : nodes_) {
        if (!node.owns && node.link && node.sent.empty()) {
            close(node);
        }
    }
    if (nodes_.size() > 2 * (kTags + spec_.nodes.size())) {
        std::erase_if(nodes_, [](const Nodes::value_type& node) {
            return !node.second.owns && !node.second.link;
        });
    }
}

// Take from all feeds in turn, so that none keeps another from its queries.
void ClusterClient::gather(Nanoseconds now) {
    std::size_t taken = 0;
    for (bool more = true; more && taken < kTakenAtOnce;) {
        more = false;
        for (std::uint32_t f = 0; f < feeds_.size(); ++f) {
            FlowQuery ask;
            if (!feeds_[f]->take(ask)) {
                continue;
            }
            if (!put(f, ask, now)) {
                return;
            }
            ++taken;
            more = true;
        }
    }
}

// Return false if no more flows can be taken now.
bool ClusterClient::put(std::uint32_t feed, const FlowQuery& ask, Nanoseconds now) {
    const PagePosition place = layout_.place_of(ask.shared);
    Tag& tag = tags_[place.tag];
    const bool full = tag.pending.size() >= kMaxPending;
    const bool gets_on =
        tag.node != nullptr && tag.node->ready && now - tag.node->answered_at < kStands;
    if (full && !gets_on) {
        ++counters_.unanswered;
        return true;
    }
    tag.pending.push_back({ask.flow, feed, place, now});
    return !full;
}

void ClusterClient::give_up_old(Nanoseconds now) {
    for (Tag& tag : tags_) {
        while (!tag.pending.empty() && now - tag.pending.front().since >= spec_.timeout) {
            tag.pending.pop_front();
            ++counters_.unanswered;
        }
    }
}

// Query a ready node for the masters; without one, the configured nodes in turn.
void ClusterClient::find_masters(Nanoseconds now) {
    if (map_asked_ || now < map_due_ || now - map_asked_at_ < kAgain) {
        return;
    }
    if (Nodes::value_type* const ready = next_ready()) {
        return request_slot_map(*ready, now);
    }
    for (std::size_t i = 0; i < spec_.nodes.size(); ++i) {
        auto& seed = *nodes_.try_emplace(spec_.nodes[next_seed_++ % spec_.nodes.size()]).first;
        if (seed.second.link || open(seed.first, seed.second, now)) {
            return request_slot_map(seed, now);
        }
    }
    map_due_ = now + kFirstBackoff;
}

// Take nodes in turn, so that an old map of one does not persist; none that is cut off from the
// others.
ClusterClient::Nodes::value_type* ClusterClient::next_ready() {
    const auto good = [](const Nodes::value_type& node) {
        return node.second.ready && !node.second.apart;
    };
    const auto begin = nodes_.upper_bound(map_from_);
    auto found = std::find_if(begin, nodes_.end(), good);
    if (found == nodes_.end()) {
        found = std::find_if(nodes_.begin(), begin, good);
        return found == begin ? nullptr : &*found;
    }
    return &*found;
}

void ClusterClient::request_slot_map(Nodes::value_type& of, Nanoseconds now) {
    send(of.second, {Kind::kSlots, now}, {"CLUSTER", "SLOTS"});
    map_from_ = of.first;
    map_asked_at_ = now;
    map_asked_ = true;
}

// Give each tag its master, by the map.
void ClusterClient::share_out() {
    for (auto& [at, node] : nodes_) {
        node.owns = false;
    }
    for (unsigned t = 0; t < kTags; ++t) {
        const std::uint16_t owner = map_.owner(layout_.slot(t));
        tags_[t].owner = nullptr;
        tags_[t].node = nullptr;
        if (owner != SlotMap::kNobody) {
            auto& [at, node] = *nodes_.try_emplace(map_.masters()[owner]).first;
            node.owns = true;
            tags_[t].owner = &at;
            tags_[t].node = &node;
        }
    }
}

void ClusterClient::send_batches(Nanoseconds now) {
    for (unsigned t = 0; t < kTags; ++t) {
        Tag& tag = tags_[t];
        if (tag.node == nullptr) {
            continue;
        }
        Node& node = *tag.node;
        if (!node.link && !open(*tag.owner, node, now)) {
            continue;
        }
        if (!node.greeted && now >= node.greet_at) {
            node.greeted = true;
            send_check(node, Kind::kHello, t, {}, now);
        }
        while (
            node.ready && !tag.pending.empty() && now >= tag.not_before &&
            (tag.underway == 0 || (tag.underway < kUnderway && tag.pending.size() >= kFullBatch))) {
            const auto n = static_cast<std::ptrdiff_t>(std::min(tag.pending.size(), kMostBatch));
            std::vector<Item> items(tag.pending.begin(), tag.pending.begin() + n);
            tag.pending.erase(tag.pending.begin(), tag.pending.begin() + n);
            ++tag.underway;
            send_check(node, Kind::kCheck, t, std::move(items), now);
        }
    }
}

void ClusterClient::wait(Nanoseconds longest) {
    std::vector<pollfd> polled;
    std::vector<Nodes::iterator> of;
    for (auto node = nodes_.begin(); node != nodes_.end(); ++node) {
        if (const auto& link = node->second.link) {
            const short events = link->wants_to_write() ? POLLIN | POLLOUT : POLLIN;
            polled.push_back({link->descriptor(), events, 0});
            of.push_back(node);
        }
    }
    const timespec time{static_cast<time_t>(longest / kSecond),
                        static_cast<long>(longest % kSecond)};
    if (ppoll(polled.data(), polled.size(), &time, nullptr) <= 0) {
        return;
    }
    const Nanoseconds now = steady_now();
    for (std::size_t i = 0; i < polled.size(); ++i) {
        const Endpoint& at = of[i]->first;
        Node& node = of[i]->second;
        Status status;
        if ((polled[i].revents & (POLLOUT | POLLERR | POLLHUP)) != 0) {
            status = node.link->write();
        }
        if (status && (polled[i].revents & POLLIN) != 0) {
            status = node.link->read();
        }
        if (!status) {
            lose(node, status.error().context, now);
        } else {
            take_replies(at, node, now);
        }
    }
}

void ClusterClient::check_timeouts(Nanoseconds now) {
    for (auto& [at, node] : nodes_) {
        if (!node.sent.empty() && now - std::min(now, node.sent.front().at) >= spec_.timeout) {
            lose(node,
                 fmt::format("{}: no answer within {}", at.text(), format_duration(spec_.timeout)),
                 now);
        }
    }
}

void ClusterClient::count_masters() {
    counters_.unassigned = static_cast<std::uint64_t>(std::count_if(
        tags_.begin(), tags_.end(), [](const Tag& tag) { return tag.node == nullptr; }));
    counters_.masters = 0;
    counters_.answering = 0;
    for (const auto& [at, node] : nodes_) {
        counters_.masters += node.owns ? 1 : 0;
        counters_.answering += node.owns && node.ready ? 1 : 0;
    }
    if (!all_answer()) {
        map_due_ = std::min(map_due_, map_asked_at_ + kMapLastsInTrouble);
    }
}

// --- to a node ---------------------------------------------------------------------------------

// Return false until the connection is on its way.
bool ClusterClient::open(const Endpoint& at, Node& node, Nanoseconds now) {
    if (now < node.retry_at) {
        return false;
    }
    if (!node.lookup) {
        Result<Lookup> lookup = Lookup::begin(at);
        if (!lookup) {
            lose(node, lookup.error().context, now);
            return false;
        }
        node.lookup.emplace(std::move(*lookup));
    }
    const Result<Addresses>* const found = node.lookup->answer();
    if (found == nullptr) {
        return false;
    }
    Result<Connection> link =
        *found ? Connection::open(at, (**found)[node.attempt++ % (*found)->size()])
               : tl::unexpected(found->error());
    node.lookup.reset();
    if (!link) {
        lose(node, link.error().context, now);
        return false;
    }
    node.link.emplace(std::move(*link));
    if (spec_.password) {
        std::vector<std::string_view> words{"AUTH"};
        if (spec_.user) {
            words.emplace_back(*spec_.user);
        }
        words.emplace_back(*spec_.password);
        send(node, {Kind::kAuth, now}, words);
    }
    return true;
}

void ClusterClient::send(Node& node, Sent sent, const std::vector<std::string_view>& words) {
    node.link->append(words);
    node.sent.push_back(std::move(sent));
}

// Flows of a page are sent side by side, so that each page is looked up once.
void ClusterClient::send_check(Node& node, Kind kind, unsigned tag, std::vector<Item> items,
                               Nanoseconds now) {
    std::stable_sort(items.begin(), items.end(), [](const Item& one, const Item& other) {
        return one.place.page < other.place.page;
    });
    std::vector<std::string_view> words{"FCALL", kFunctionName, "1", layout_.tag(tag),
                                        layout_.text()};
    words.insert(words.end(), numbers_.begin(), numbers_.end());
    std::deque<std::string> texts;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const PagePosition& place = items[i].place;
        if (i == 0 || place.page != items[i - 1].place.page) {
            texts.push_back(std::to_string(place.page));
            texts.emplace_back();
        }
        texts.back().append(place.print.data(), layout_.width());
    }
    words.insert(words.end(), texts.begin(), texts.end());
    send(node, {kind, now, tag, std::move(items)}, words);
}

// --- from a node -------------------------------------------------------------------------------

void ClusterClient::take_replies(const Endpoint& at, Node& node, Nanoseconds now) {
    while (node.link) {
        Result<Reply> reply = node.link->next();
        if (!reply) {
            return lose(node, reply.error().context, now);
        }
        if (*reply == nullptr) {
            return;
        }
        if (node.sent.empty()) {
            return lose(node, at.text() + ": an answer that nobody asked for", now);
        }
        Sent sent = std::move(node.sent.front());
        node.sent.pop_front();
        node.answered_at = now;
        take(at, node, std::move(sent), **reply, now);
    }
}

void ClusterClient::take(const Endpoint& at, Node& node, Sent sent, const redisReply& reply,
                         Nanoseconds now) {
    switch (sent.kind) {
        case Kind::kSlots:
            return take_slots(at, node, reply, now);
        case Kind::kHello:
        case Kind::kCheck:
            return take_check(at, node, std::move(sent), reply, now);
        case Kind::kLoad:
        case Kind::kAuth:
            if (is_error(reply) && !has(text_of(reply), "already exists")) {
                take_refusal(at, node, text_of(reply), now);
            }
            return;
    }
}

void ClusterClient::take_slots(const Endpoint& at, Node& node, const redisReply& reply,
                               Nanoseconds now) {
    map_asked_ = false;
    map_due_ = now + kMapLastsInTrouble;
    if (is_error(reply) && passes(text_of(reply))) {
        return lose(node, fmt::format("{}: {}", at.text(), quoted(text_of(reply))), now);
    }
    Result<SlotMap> map = SlotMap::from(reply, at);
    if (!map) {
        return refuse(node, quoted(map.error().context), now);
    }
    if (map->masters().empty()) {
        refuse(node, at.text() + ": no slots are assigned in this cluster", now);
    }
    map_ = std::move(*map);
    map_due_ = now + kMapLasts;
    share_out();
}

// Only an answer of the expected form counts: a function of another version may answer differently.
bool ClusterClient::is_answer(const redisReply& reply, std::size_t flows) {
    return reply.type == REDIS_REPLY_ARRAY && reply.elements == 2 &&
           reply.element[0]->type == REDIS_REPLY_STRING && reply.element[0]->len == flows &&
           reply.element[1]->type == REDIS_REPLY_INTEGER;
}

void ClusterClient::take_check(const Endpoint& at, Node& node, Sent sent, const redisReply& reply,
                               Nanoseconds now) {
    if (is_error(reply)) {
        return take_error(at, node, std::move(sent), text_of(reply), now);
    }
    if (sent.kind == Kind::kCheck) {
        --tags_[sent.tag].underway;
    }
    if (!is_answer(reply, sent.items.size())) {
        counters_.unanswered += sent.items.size();
        return lose(node, at.text() + ": an answer to FCALL that is none of ours", now);
    }
    node.apart = false;
    if (sent.kind == Kind::kHello) {
        if (node.told) {
            say(Severity::kNotice, at.text() + " answers again");
        }
        node.ready = true;
        node.ready_at = now;
        node.told = false;
        node.refused = false;
        return;
    }
    take_answers(sent, reply, now);
}

void ClusterClient::take_answers(const Sent& sent, const redisReply& reply, Nanoseconds now) {
    ++counters_.batches;
    counters_.longest_round_trip = std::max(counters_.longest_round_trip, now - sent.at);
    const double chance =
        layout_.chance(static_cast<std::uint64_t>(std::max(reply.element[1]->integer, 0LL)));
    for (std::size_t i = 0; i < sent.items.size(); ++i) {
        const Item& item = sent.items[i];
        const char answer = reply.element[0]->str[i];
        if (answer != kKnown) {
            ++(answer == kNoRoom ? counters_.no_room : counters_.unknown);
        } else if (chance > layout_.spec().bound) {
            ++counters_.doubted;
        } else {
            ++counters_.known;
            if (spec_.tells && !feeds_[item.feed]->tell(item.flow)) {
                ++counters_.untold;
            }
        }
    }
}

void ClusterClient::take_error(const Endpoint& at, Node& node, Sent sent, std::string_view error,
                               Nanoseconds now) {
    const bool hello = sent.kind == Kind::kHello;
    if (const Result<Redirection> to = parse_redirection(error, at);
        to && error.starts_with("MOVED ")) {
        map_.move(*to);
        share_out();
        map_due_ = now;
        if (hello) {
            node.greeted = false;
            node.greet_at = now + kAgain;
            return;
        }
        Tag& tag = tags_[sent.tag];
        const bool circles = now - tag.moved_at < kAgain;
        tag.moved_at = now;
        return ask_again(std::move(sent), circles ? now + kAgain : now);
    }
    if (has(error, "Function not found") && now - node.loaded_at >= kAgain) {
        node.loaded_at = now;
        send(node, {Kind::kLoad, now}, {"FUNCTION", "LOAD", kFunctionCode});
        node.greeted = node.greeted && !hello;
        return ask_again(std::move(sent), now);
    }
    node.apart = node.apart || error.starts_with("CLUSTERDOWN");
    if (passes(error)) {
        map_due_ = std::min(map_due_, now + kAgain);
        if (hello) {  // retried with the next connection
            return lose(node, fmt::format("{}: {}", at.text(), quoted(error)), now);
        }
        return ask_again(std::move(sent), now + kAgain);
    }
    ask_again(std::move(sent), now + kAgain);
    take_refusal(at, node, error, now);
}

void ClusterClient::take_refusal(const Endpoint& at, Node& node, std::string_view error,
                                 Nanoseconds now) {
    if (passes(error)) {
        return lose(node, fmt::format("{}: {}", at.text(), quoted(error)), now);
    }
    refuse(node,
           fmt::format(
               "{}: {}", at.text(),
               error.starts_with(kOtherLayout)
                   ? fmt::format(
                         "other sites have another root under this name, with {}; here it is {}",
                         quoted(error.substr(kOtherLayout.size())), layout_.text())
                   : quoted(error)),
           now);
}

// Put flows back before later ones. They are given up when they are too old.
void ClusterClient::ask_again(Sent sent, Nanoseconds not_before) {
    if (sent.kind != Kind::kCheck) {
        return;
    }
    ++counters_.redirected;
    Tag& tag = tags_[sent.tag];
    --tag.underway;
    tag.not_before = not_before;
    tag.pending.insert(tag.pending.begin(), sent.items.begin(), sent.items.end());
}

// Flows that were sent may have been recorded, so they are not queried again.
void ClusterClient::close(Node& node) {
    for (const Sent& sent : node.sent) {
        if (sent.kind == Kind::kCheck) {
            --tags_[sent.tag].underway;
            counters_.unanswered += sent.items.size();
        }
        map_asked_ = map_asked_ && sent.kind != Kind::kSlots;
    }
    node.sent.clear();
    node.link.reset();
    node.greeted = false;
    node.greet_at = 0;
    node.ready = false;
    node.apart = false;
}

void ClusterClient::lose(Node& node, const std::string& why, Nanoseconds now) {
    const bool was_well = node.ready && now - node.ready_at >= kWell;
    close(node);
    node.backoff =
        was_well ? kFirstBackoff : std::clamp(node.backoff * 2, kFirstBackoff, kLongestBackoff);
    node.retry_at = now + node.backoff;
    map_due_ = std::min(map_due_, now + kFirstBackoff);
    loss_ = why;
    if (!node.told && (map_.masters().empty() || node.owns)) {
        node.told = true;
        say(Severity::kWarning, why + "; what it knows is taken as unknown");
    }
}

// For a node that answers, but refuses to serve.
void ClusterClient::refuse(Node& node, const std::string& why, Nanoseconds now) {
    close(node);
    node.backoff = kLongestBackoff;
    node.retry_at = now + kLongestBackoff;
    refusal_ = Error{Errc::kConfig, why};
    if (!node.refused) {
        node.refused = true;
        node.told = true;
        say(Severity::kWarning, why + "; flows are not asked for there");
    }
}

}  // namespace unecho::shared_flows
