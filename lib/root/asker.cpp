// SPDX-License-Identifier: BSD-3-Clause
#include "root/asker.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include <poll.h>

#include "root/function.h"

namespace unecho::root {
namespace {

constexpr Nanoseconds kFirstBackoff = 100 * kMillisecond;
constexpr Nanoseconds kLongestBackoff = 5 * kSecond;
// The cluster is asked for its masters this often, and while one does not answer.
constexpr Nanoseconds kMapLasts = 10 * kSecond;
constexpr Nanoseconds kMapLastsInTrouble = 300 * kMillisecond;
// What a slot that moves, or a master that loads, needs at least.
constexpr Nanoseconds kAgain = 20 * kMillisecond;
constexpr std::size_t kTakenAtOnce = 4096;  // of all feeds
constexpr unsigned kUnderway = 2;           // batches of a tag

Nanoseconds now_of_clock() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
}

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// It will be right, and is to be asked again: slots on their way, a master that is not one yet.
bool passes(std::string_view error) {
    return error.starts_with("ASK ") || error.starts_with("TRYAGAIN") ||
           error.starts_with("LOADING") || error.starts_with("CLUSTERDOWN") ||
           error.starts_with("MASTERDOWN") || error.starts_with("READONLY") ||
           error.starts_with("BUSY ") || has(error, "non local key");
}

}  // namespace

Asker::Asker(Layout layout, AskerSpec spec, std::vector<Feed*> feeds, Log log)
    : layout_(std::move(layout)),
      spec_(std::move(spec)),
      feeds_(std::move(feeds)),
      log_(std::move(log)),
      numbers_{std::to_string(layout_.span_ms()), std::to_string(kGenerations),
               std::to_string(layout_.width()),
               std::to_string(kPageFlows * kMostPageFlows * layout_.width()),
               layout_.spec().refresh ? "1" : "0"} {}

Asker::~Asker() = default;

void Asker::say(Severity severity, const std::string& line) const {
    log_({severity, "root", "root \"" + layout_.spec().name + "\": " + line});
}

// --- a step ------------------------------------------------------------------------------------

Status Asker::contact(Nanoseconds patience) {
    const Nanoseconds deadline = now_of_clock() + patience;
    refusal_.reset();
    while (!refusal_) {
        step(kMillisecond);
        if (counters_.masters != 0 && counters_.answering == counters_.masters) {
            return {};
        }
        if (now_of_clock() >= deadline) {
            return fail(Errc::kIo,
                        "no answer of all its masters within " + format_duration(patience));
        }
    }
    return tl::unexpected(*refusal_);
}

void Asker::step(Nanoseconds longest) {
    const Nanoseconds now = now_of_clock();
    forget_nodes();
    gather(now);
    give_up_old(now);
    find_masters(now);
    send_batches(now);
    wait(longest);
    look_at_clocks(now_of_clock());
    count_masters();
}

// Those that were masters once, and are not connected, when they are more than those that count.
void Asker::forget_nodes() {
    if (nodes_.size() > 2 * (map_.masters().size() + spec_.nodes.size())) {
        std::erase_if(nodes_, [this](const Nodes::value_type& node) {
            return !node.second.link && !owns(node.first);
        });
    }
}

// From all in turn: none is kept from asking by another one.
void Asker::gather(Nanoseconds now) {
    std::size_t taken = 0;
    for (bool more = true; more && taken < kTakenAtOnce && pending_ < kMostPending;) {
        more = false;
        for (std::uint32_t f = 0; f < feeds_.size(); ++f) {
            Ask ask;
            if (!feeds_[f]->take(ask)) {
                continue;
            }
            const Place place = layout_.place_of(ask.shared);
            tags_[place.tag].pending.push_back({ask.flow, f, place, now});
            ++pending_;
            ++taken;
            more = true;
        }
    }
}

void Asker::give_up_old(Nanoseconds now) {
    for (Tag& tag : tags_) {
        while (!tag.pending.empty() && now - tag.pending.front().since >= spec_.timeout) {
            tag.pending.pop_front();
            --pending_;
            ++counters_.unanswered;
        }
    }
}

// One that is well knows them; else those of the configuration in turn.
void Asker::find_masters(Nanoseconds now) {
    if (map_asked_ || now < map_due_) {
        return;
    }
    for (auto& [at, node] : nodes_) {
        if (node.ready) {
            send(node, {Kind::kSlots, now}, {"CLUSTER", "SLOTS"});
            map_asked_ = true;
            return;
        }
    }
    for (std::size_t i = 0; i < spec_.nodes.size(); ++i) {
        const Endpoint& at = spec_.nodes[next_seed_++ % spec_.nodes.size()];
        Node& node = nodes_[at];
        if (node.link || open(at, node, now)) {
            send(node, {Kind::kSlots, now}, {"CLUSTER", "SLOTS"});
            map_asked_ = true;
            return;
        }
    }
    map_due_ = now + kFirstBackoff;
}

std::optional<Endpoint> Asker::owner_of(unsigned tag) const {
    const std::uint16_t owner = map_.owner(layout_.slot(tag));
    return owner == SlotMap::kNobody ? std::nullopt : std::optional(map_.masters()[owner]);
}

bool Asker::owns(const Endpoint& at) const {
    for (unsigned t = 0; t < kTags; ++t) {
        if (owner_of(t) == at) {
            return true;
        }
    }
    return false;
}

void Asker::send_batches(Nanoseconds now) {
    for (unsigned t = 0; t < kTags; ++t) {
        const std::optional<Endpoint> at = owner_of(t);
        if (!at) {
            continue;
        }
        Node& node = nodes_[*at];
        if (!node.link && !open(*at, node, now)) {
            continue;
        }
        if (!node.greeted) {
            greet(*at, node, now);
        }
        Tag& tag = tags_[t];
        while (
            node.ready && !tag.pending.empty() && now >= tag.not_before &&
            (tag.underway == 0 || (tag.underway < kUnderway && tag.pending.size() >= kFullBatch))) {
            const auto n = static_cast<std::ptrdiff_t>(std::min(tag.pending.size(), kMostBatch));
            std::vector<Item> items(tag.pending.begin(), tag.pending.begin() + n);
            tag.pending.erase(tag.pending.begin(), tag.pending.begin() + n);
            pending_ -= items.size();
            ++tag.underway;
            send_check(node, Kind::kCheck, t, std::move(items), now);
        }
    }
}

void Asker::wait(Nanoseconds longest) {
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
    const Nanoseconds now = now_of_clock();
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
            lose(at, node, status.error().context, now);
        } else {
            take_replies(at, node, now);
        }
    }
}

void Asker::look_at_clocks(Nanoseconds now) {
    for (auto& [at, node] : nodes_) {
        if (!node.sent.empty() && now - std::min(now, node.sent.front().at) >= spec_.timeout) {
            lose(at, node, at.text() + ": no answer within " + format_duration(spec_.timeout), now);
        }
    }
}

void Asker::count_masters() {
    std::vector<Endpoint> owners;
    bool whole = true;
    for (unsigned t = 0; t < kTags; ++t) {
        if (const std::optional<Endpoint> at = owner_of(t)) {
            owners.push_back(*at);
        } else {
            whole = false;
        }
    }
    std::sort(owners.begin(), owners.end());
    owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
    counters_.masters = owners.size() + (whole ? 0 : 1);
    counters_.answering = static_cast<std::uint64_t>(std::count_if(
        owners.begin(), owners.end(), [this](const Endpoint& at) { return nodes_[at].ready; }));
    if (counters_.answering != counters_.masters) {
        map_due_ = std::min(map_due_, now_of_clock() + kMapLastsInTrouble);
    }
}

// --- to a node ---------------------------------------------------------------------------------

bool Asker::open(const Endpoint& at, Node& node, Nanoseconds now) {
    if (now < node.retry_at) {
        return false;
    }
    Result<Connection> link = Connection::open(at);
    if (!link) {
        lose(at, node, link.error().context, now);
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

// An empty batch: whether it may be asked, has the function, and means the same.
void Asker::greet(const Endpoint& at, Node& node, Nanoseconds now) {
    for (unsigned t = 0; t < kTags; ++t) {
        if (owner_of(t) == at) {
            node.greeted = true;
            send_check(node, Kind::kHello, t, {}, now);
            return;
        }
    }
}

void Asker::send(Node& node, Sent sent, const std::vector<std::string_view>& words) {
    node.link->append(words);
    node.sent.push_back(std::move(sent));
}

// Flows of one page side by side, so that each page is looked up once.
void Asker::send_check(Node& node, Kind kind, unsigned tag, std::vector<Item> items,
                       Nanoseconds now) {
    std::stable_sort(items.begin(), items.end(), [](const Item& one, const Item& other) {
        return one.place.page < other.place.page;
    });
    std::vector<std::string_view> words{"FCALL", kFunctionName, "1", layout_.tag(tag),
                                        layout_.text()};
    words.insert(words.end(), numbers_.begin(), numbers_.end());
    std::deque<std::string> texts;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const Place& place = items[i].place;
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

void Asker::take_replies(const Endpoint& at, Node& node, Nanoseconds now) {
    while (node.link) {
        Result<Reply> reply = node.link->next();
        if (!reply) {
            return lose(at, node, reply.error().context, now);
        }
        if (*reply == nullptr) {
            return;
        }
        if (node.sent.empty()) {
            return lose(at, node, at.text() + ": an answer that nobody asked for", now);
        }
        Sent sent = std::move(node.sent.front());
        node.sent.pop_front();
        take(at, node, std::move(sent), **reply, now);
    }
}

void Asker::take(const Endpoint& at, Node& node, Sent sent, const redisReply& reply,
                 Nanoseconds now) {
    switch (sent.kind) {
        case Kind::kSlots:
            return take_slots(at, node, reply, now);
        case Kind::kHello:
        case Kind::kCheck:
            return take_check(at, node, std::move(sent), reply, now);
        case Kind::kLoad:
            if (is_error(reply) && !has(text_of(reply), "already exists")) {
                refuse(node, at.text() + ": " + std::string(text_of(reply)), now);
            }
            return;
        case Kind::kAuth:
            if (is_error(reply)) {
                refuse(node, at.text() + ": " + std::string(text_of(reply)), now);
            }
            return;
    }
}

void Asker::take_slots(const Endpoint& at, Node& node, const redisReply& reply, Nanoseconds now) {
    map_asked_ = false;
    Result<SlotMap> map = SlotMap::from(reply, at);
    if (!map) {
        map_due_ = now + kMapLastsInTrouble;
        return refuse(node, map.error().context, now);
    }
    map_ = std::move(*map);
    map_due_ = now + kMapLasts;
    if (map_.masters().empty()) {
        refuse(node, at.text() + ": no slots are assigned in this cluster", now);
    }
}

void Asker::take_check(const Endpoint& at, Node& node, Sent sent, const redisReply& reply,
                       Nanoseconds now) {
    if (is_error(reply)) {
        return take_error(at, node, std::move(sent), text_of(reply), now);
    }
    if (sent.kind == Kind::kHello) {
        if (node.told) {
            say(Severity::kNotice, at.text() + " answers again");
        }
        node.ready = true;
        node.told = false;
        node.refused = false;
        node.backoff = 0;
        return;
    }
    --tags_[sent.tag].underway;
    take_answers(sent, reply, now);
}

void Asker::take_answers(const Sent& sent, const redisReply& reply, Nanoseconds now) {
    const bool well = reply.type == REDIS_REPLY_ARRAY && reply.elements == 2 &&
                      reply.element[0]->type == REDIS_REPLY_STRING &&
                      reply.element[0]->len == sent.items.size() &&
                      reply.element[1]->type == REDIS_REPLY_INTEGER;
    if (!well) {
        counters_.unanswered += sent.items.size();
        return;
    }
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

void Asker::take_error(const Endpoint& at, Node& node, Sent sent, std::string_view error,
                       Nanoseconds now) {
    const bool hello = sent.kind == Kind::kHello;
    ++counters_.redirected;
    if (const Result<Redirection> to = parse_redirection(error, at);
        to && error.starts_with("MOVED ")) {
        map_.move(*to);
        map_due_ = now;
        node.greeted = node.greeted && !hello;
        return ask_again(std::move(sent), now);
    }
    if (has(error, "Function not found")) {
        send(node, {Kind::kLoad, now}, {"FUNCTION", "LOAD", kFunctionCode});
        node.greeted = node.greeted && !hello;
        return ask_again(std::move(sent), now);
    }
    if (passes(error)) {
        map_due_ = std::min(map_due_, now + kAgain);
        if (hello) {  // with the next connection
            return lose(at, node, at.text() + ": " + std::string(error), now);
        }
        return ask_again(std::move(sent), now + kAgain);
    }
    ask_again(std::move(sent), now + kLongestBackoff);
    refuse(node,
           at.text() + ": " +
               (error.starts_with(kOtherLayout)
                    ? "other sites have another root under this name, with " +
                          std::string(error.substr(kOtherLayout.size())) + "; here it is " +
                          layout_.text()
                    : std::string(error)),
           now);
}

// In front of those that came later; they are given up when they are old.
void Asker::ask_again(Sent sent, Nanoseconds not_before) {
    if (sent.kind != Kind::kCheck) {
        return;
    }
    Tag& tag = tags_[sent.tag];
    --tag.underway;
    tag.not_before = not_before;
    pending_ += sent.items.size();
    tag.pending.insert(tag.pending.begin(), sent.items.begin(), sent.items.end());
}

// What was sent may have been recorded: it is not asked again.
void Asker::close(Node& node) {
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
    node.ready = false;
}

void Asker::lose(const Endpoint& at, Node& node, const std::string& why, Nanoseconds now) {
    close(node);
    node.backoff = std::clamp(node.backoff * 2, kFirstBackoff, kLongestBackoff);
    node.retry_at = now + node.backoff;
    map_due_ = std::min(map_due_, now + kFirstBackoff);
    if (!node.told && (map_.masters().empty() || owns(at))) {
        node.told = true;
        say(Severity::kWarning, why + "; what it knows is taken as unknown");
    }
}

// It answers, and will not do it.
void Asker::refuse(Node& node, const std::string& why, Nanoseconds now) {
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

}  // namespace unecho::root
