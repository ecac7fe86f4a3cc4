// SPDX-License-Identifier: BSD-3-Clause
// Simulates the tree of filters (paper "distributed") and prints measurements beside the formulas
// as CSV:
//
//     tree_simulator faults|slices|messages|fairness|scale
//
//   faults    false positives and misses of a Bloom filter in slices of which some have failed
//             (section 3.2; equations 5 to 7), taken as set or as not set
//   slices    S_f: the number of slices that keeps false positives allowed when f of them fail
//   messages  slices that a check has to query
//   fairness  Jain's index of the slices' loads (section 4)
//   scale     1000 sites with 10^9 flows a minute, with a shared flow store: a sample of its pages,
//             each with all of its flows, sites, delays and failures
//
// Slicing. horizontal: all bits of an element in one slice; vertical: each bit in any slice; diced:
// an element in one group of slices, each bit in any of the group. Seeds are fixed; intervals are
// means with 1.96 standard errors.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Random = std::mt19937_64;

// Mean and standard error of samples that are added one by one.
class Mean {
  public:
    void add(double value) {
        ++n_;
        const double step = value - mean_;
        mean_ += step / static_cast<double>(n_);
        squares_ += step * (value - mean_);
    }
    [[nodiscard]] double mean() const { return mean_; }
    [[nodiscard]] double error() const {
        const auto n = static_cast<double>(n_);
        return n_ < 2 ? 0 : 1.96 * std::sqrt(squares_ / (n - 1) / n);
    }

  private:
    std::uint64_t n_ = 0;
    double mean_ = 0;
    double squares_ = 0;
};

std::uint64_t below(Random& random, std::uint64_t limit) {
    return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(random);
}
double uniform(Random& random, double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
}

// --- slices ------------------------------------------------------------------------------------

enum class Slicing { kHorizontal, kVertical, kDiced };
constexpr std::array kSlicings{Slicing::kHorizontal, Slicing::kVertical, Slicing::kDiced};

const char* name_of(Slicing slicing) {
    switch (slicing) {
        case Slicing::kHorizontal:
            return "horizontal";
        case Slicing::kVertical:
            return "vertical";
        case Slicing::kDiced:
            return "diced";
    }
    return "";
}

// m bits in total with k a key, in S slices in `groups` groups.
struct Shape {
    unsigned k;
    std::uint64_t m;
    unsigned slices;
    unsigned groups;
};

Shape shape_of(Slicing slicing, unsigned k, std::uint64_t m, unsigned slices, unsigned in_group) {
    const unsigned groups = slicing == Slicing::kHorizontal ? slices
                            : slicing == Slicing::kVertical ? 1
                                                            : slices / in_group;
    return {k, m, slices, groups};
}

// Return an element's bits, as bits of the whole; a slice has m / S consecutive bits.
std::vector<std::uint64_t> bits_of(const Shape& shape, Random& random) {
    const std::uint64_t per_group = shape.m / shape.groups;
    const std::uint64_t group = below(random, shape.groups);
    std::vector<std::uint64_t> bits(shape.k);
    for (std::uint64_t& bit : bits) {
        bit = group * per_group + below(random, per_group);
    }
    return bits;
}
unsigned slice_of(const Shape& shape, std::uint64_t bit) {
    return static_cast<unsigned>(bit * shape.slices / shape.m);
}

// Return the logarithm of the number of ways to choose k of n; k <= n.
double log_choose(unsigned n, unsigned k) {
    return std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0);
}
double choose(unsigned n, unsigned k) {
    return k > n ? 0 : std::exp(log_choose(n, k));
}

// Return the mean of rate(share of an element's group that failed, fill of the group's bits). The
// failed slices are random, and so is a group's number of elements (equation 4 assumes equal
// numbers).
double over_groups(const Shape& shape, unsigned elements, unsigned failed,
                   const std::function<double(double, double)>& rate) {
    const unsigned size = shape.slices / shape.groups;
    const double share = 1.0 / shape.groups;
    const double bits = static_cast<double>(shape.m) / shape.groups;
    double sum = 0;
    for (unsigned g = 0; g <= std::min(size, failed); ++g) {
        const double chance = choose(size, g) * choose(shape.slices - size, failed - g) /
                              choose(shape.slices, failed);
        for (unsigned n = 0; n <= elements; ++n) {
            const double load = shape.groups == 1
                                    ? (n == elements ? 1 : 0)
                                    : std::exp(log_choose(elements, n) + n * std::log(share) +
                                               (elements - n) * std::log1p(-share));
            if (load > 1e-12) {
                sum += chance * load *
                       rate(static_cast<double>(g) / size,
                            1 - std::exp(n * shape.k * std::log1p(-1 / bits)));
            }
        }
    }
    return sum;
}

// Results of filters with so many elements, some of whose slices failed.
struct Faults {
    std::array<Mean, 2> positives;  // failed slices taken as set, as not set
    Mean misses;                    // with failed slices taken as not set
};

Faults measure(const Shape& shape, unsigned elements, unsigned failed, unsigned turns,
               Random& random) {
    constexpr unsigned kAsked = 20000;
    Faults out;
    for (unsigned turn = 0; turn < turns; ++turn) {
        std::vector<unsigned> order(shape.slices);
        std::iota(order.begin(), order.end(), 0U);
        std::shuffle(order.begin(), order.end(), random);
        std::vector<bool> dead(shape.slices);
        for (unsigned i = 0; i < failed; ++i) {
            dead[order[i]] = true;
        }
        std::vector<bool> table(shape.m);
        unsigned lost = 0;
        for (unsigned i = 0; i < elements; ++i) {
            bool alive = true;
            for (const std::uint64_t bit : bits_of(shape, random)) {
                table[bit] = true;
                alive = alive && !dead[slice_of(shape, bit)];
            }
            lost += alive ? 0 : 1;
        }
        std::array<unsigned, 2> found{};
        for (unsigned i = 0; i < kAsked; ++i) {
            bool as_set = true;
            bool as_unset = true;
            for (const std::uint64_t bit : bits_of(shape, random)) {
                const bool gone = dead[slice_of(shape, bit)];
                as_set = as_set && (gone || table[bit]);
                as_unset = as_unset && !gone && table[bit];
            }
            found[0] += as_set ? 1 : 0;
            found[1] += as_unset ? 1 : 0;
        }
        for (unsigned i = 0; i < 2; ++i) {
            out.positives[i].add(static_cast<double>(found[i]) / kAsked);
        }
        out.misses.add(static_cast<double>(lost) / elements);
    }
    return out;
}

double positives_by_model(const Shape& shape, unsigned elements, unsigned failed, bool as_set) {
    return over_groups(shape, elements, failed, [&](double share, double fill) {
        return std::pow((as_set ? share : 0) + (1 - share) * fill, shape.k);
    });
}

void say(const Mean& mean, double formula) {
    std::cout << mean.mean() << "," << mean.mean() - mean.error() << ","
              << mean.mean() + mean.error() << "," << formula;
}

void faults() {
    constexpr unsigned kElements = 5000;
    constexpr unsigned kInGroup = 8;
    std::cout << "slicing,failed,taken_as,false_positives,low,high,formula,misses,misses_low,"
                 "misses_high,misses_formula\n";
    Random random(1);
    for (const Slicing slicing : kSlicings) {
        const Shape shape = shape_of(slicing, 8, 60000, 40, kInGroup);
        for (unsigned failed = 0; failed <= 12; failed += 2) {
            const Faults found = measure(shape, kElements, failed, 60, random);
            for (const bool as_set : {true, false}) {
                std::cout << name_of(slicing) << "," << failed << ","
                          << (as_set ? "set" : "not set") << ",";
                say(found.positives[as_set ? 0 : 1],
                    positives_by_model(shape, kElements, failed, as_set));
                std::cout << ",";
                const double missed = over_groups(
                    shape, kElements, failed,
                    [&](double share, double) { return 1 - std::pow(1 - share, shape.k); });
                as_set ? say(Mean(), 0) : say(found.misses, missed);
                std::cout << "\n";
            }
        }
    }
}

// S_f of section 3.2: the slices with which false positives stay allowed if f are taken as set.
void slices_for() {
    constexpr unsigned kHashes = 4;
    constexpr unsigned kElements = 5000;
    constexpr double kBase = 0.02;
    std::cout << "slicing,allowed,failed,slices,exact_slices,false_positives,low,high,formula\n";
    Random random(5);
    const double root = std::pow(kBase, 1.0 / kHashes);
    const auto bits =
        static_cast<std::uint64_t>(std::ceil(-1.0 * kHashes * kElements / std::log(1 - root)));
    for (const bool vertical : {false, true}) {
        for (const double allowed : {0.1, 0.15, 0.2}) {
            for (const unsigned failed : {1U, 2U, 4U, 8U}) {
                const double exact =
                    vertical ? failed * (1 - root) / (std::pow(allowed, 1.0 / kHashes) - root)
                             : failed * (1 - kBase) / (allowed - kBase);
                const auto slices = static_cast<unsigned>(std::ceil(exact));
                const Shape shape = shape_of(vertical ? Slicing::kVertical : Slicing::kHorizontal,
                                             kHashes, bits / slices * slices, slices, 1);
                std::cout << (vertical ? "vertical" : "horizontal") << "," << allowed << ","
                          << failed << "," << slices << "," << exact << ",";
                say(measure(shape, kElements, failed, 30, random).positives[0],
                    positives_by_model(shape, kElements, failed, true));
                std::cout << "\n";
            }
        }
    }
}

void messages() {
    constexpr unsigned kHashes = 8;
    constexpr unsigned kChecks = 20000;
    std::cout << "slicing,slices,messages,low,high,formula\n";
    Random random(2);
    for (const Slicing slicing : kSlicings) {
        for (const unsigned slices : {1U, 2U, 4U, 8U, 16U, 32U, 64U, 128U}) {
            const unsigned in_group = std::min(slices, 4U);
            const Shape shape =
                shape_of(slicing, kHashes, std::uint64_t{slices} * 4096, slices, in_group);
            Mean asked;
            for (unsigned i = 0; i < kChecks; ++i) {
                std::set<unsigned> each;
                for (const std::uint64_t bit : bits_of(shape, random)) {
                    each.insert(slice_of(shape, bit));
                }
                asked.add(static_cast<double>(each.size()));
            }
            const double size = static_cast<double>(shape.slices) / shape.groups;
            std::cout << name_of(slicing) << "," << slices << "," << asked.mean() << ","
                      << asked.mean() - asked.error() << "," << asked.mean() + asked.error() << ","
                      << size * (1 - std::pow(1 - 1 / size, kHashes)) << "\n";
        }
    }
}

void fairness() {
    constexpr unsigned kItems = 5700;
    constexpr unsigned kEvents = 100000;
    constexpr unsigned kTurns = 30;
    std::cout << "popularity,slicing,slices,index,low,high,formula\n";
    Random random(3);
    for (const bool zipf : {false, true}) {
        std::vector<double> weights(kItems);
        for (unsigned i = 0; i < kItems; ++i) {
            weights[i] = zipf ? 1.0 / (i + 1) : 1.0;
        }
        std::discrete_distribution<unsigned> draw(weights.begin(), weights.end());
        std::vector<double> count(kItems);
        for (unsigned i = 0; i < kEvents; ++i) {
            count[draw(random)] += 1;
        }
        double squares = 0;
        for (const double events : count) {
            squares += events * events / kEvents / kEvents;
        }
        for (const unsigned hashes : {1U, 4U, 8U}) {
            for (const unsigned slices : {5U, 10U, 20U, 40U, 60U, 80U, 100U}) {
                Mean index;
                for (unsigned turn = 0; turn < kTurns; ++turn) {
                    std::vector<double> load(slices);
                    for (const double events : count) {
                        for (unsigned h = 0; h < hashes; ++h) {
                            load[below(random, slices)] += events;
                        }
                    }
                    double sum = 0;
                    double square = 0;
                    for (const double each : load) {
                        sum += each;
                        square += each * each;
                    }
                    index.add(sum * sum / slices / square);
                }
                std::cout << (zipf ? "zipf" : "uniform") << ","
                          << (hashes == 1 ? "horizontal" : "vertical k=" + std::to_string(hashes))
                          << "," << slices << "," << index.mean() << ","
                          << index.mean() - index.error() << "," << index.mean() + index.error()
                          << "," << 1 / (1 + (slices - 1) * squares / hashes) << "\n";
            }
        }
    }
}

// --- a thousand sites --------------------------------------------------------------------------

// All times in seconds. A flow is seen at 1 to `most_sites` sites, some tens of milliseconds apart,
// and has `packets` packets at each, a gap apart. Each site's queries have its own round trip time.
struct World {
    double minutes = 6;
    double window = 60;
    unsigned generations = 3;
    double flows_per_minute = 1e9;
    unsigned sites = 1000;
    unsigned most_sites = 3;
    double between_sites = 0.05;  // at most
    unsigned packets = 40;
    unsigned first = 10;
    double gap = 0.02;
    double least_trip = 0.005;
    double longest_trip = 0.155;
    double gather = 0.001;  // at most, before the query is sent
    unsigned page_flows = 512;
    unsigned tags = 48;
    unsigned pages = 160;        // in the sample
    double outage = 2.5;         // of a master, until its replica has taken over
    double outages_an_hour = 2;  // for each master
    double replication = 0.1;    // the replica lacks so much of the time before
    double skew = 0.2;           // of its clock, in either direction, at most
    unsigned bits = 24;          // bits of a fingerprint
};

struct Outage {
    double begin;
    double skew;
};

struct Outcome {
    double flows = 0;
    double asks = 0;
    double known = 0;
    double unanswered = 0;
    double false_known = 0;
    double forwarded = 0;     // packets
    double alone = 0;         // packets that independent sites would forward
    double again = 0;         // flows for which more than one site was the first
    double fingerprints = 0;  // in a page, mean over time
};

struct Ask {
    double at;  // at the store
    unsigned flow;
    unsigned visit;
    bool operator>(const Ask& other) const { return at > other.at; }
};

struct Visit {
    double begin;
    double trip;
};

// One page and all queries to it.
class Page {
  public:
    Page(const World& world, const std::vector<Outage>& outages, Random& random)
        : world_(world), outages_(outages), random_(random) {}

    void run(double flows_a_second, Outcome& out) {
        const double end = world_.minutes * 60;
        std::exponential_distribution<double> next(flows_a_second);
        std::vector<std::vector<Visit>> flows;
        std::vector<bool> counted;
        std::vector<Ask> asks;
        for (double time = next(random_); time < end; time += next(random_)) {
            std::vector<Visit> visits(1 + below(random_, world_.most_sites));
            for (Visit& visit : visits) {
                visit.begin = time + uniform(random_, 0, world_.between_sites);
                visit.trip = uniform(random_, world_.least_trip, world_.longest_trip);
                const double asked = visit.begin + uniform(random_, 0, world_.gather);
                asks.push_back({asked + visit.trip / 2, static_cast<unsigned>(flows.size()),
                                static_cast<unsigned>(&visit - visits.data())});
            }
            flows.push_back(std::move(visits));
            // Flows of the first window meet an empty page.
            counted.push_back(time >= world_.window && time < end - 1);
            prints_.push_back(static_cast<std::uint32_t>(below(random_, 1ULL << world_.bits)));
        }
        std::sort(asks.begin(), asks.end(), [](const Ask& a, const Ask& b) { return a.at < b.at; });
        std::vector<unsigned> firsts(flows.size());
        for (const Ask& ask : asks) {
            take(ask, flows[ask.flow][ask.visit], counted[ask.flow], firsts[ask.flow], out);
        }
        for (unsigned i = 0; i < flows.size(); ++i) {
            if (counted[i]) {
                out.flows += 1;
                out.alone += static_cast<double>(flows[i].size()) * world_.first;
                out.again += firsts[i] > 1 && firsts[i] < kByAccident ? 1 : 0;
            }
        }
    }

  private:
    // Return the generation by the clock of the page's master at that time.
    [[nodiscard]] std::int64_t generation(double at) const {
        double skew = 0;
        for (const Outage& outage : outages_) {
            skew = at >= outage.begin + world_.outage ? outage.skew : skew;
        }
        return static_cast<std::int64_t>(
            std::floor((at + skew + 1000) * world_.generations / world_.window));
    }
    [[nodiscard]] const Outage* outage_at(double at) const {
        for (const Outage& outage : outages_) {
            if (at >= outage.begin && at < outage.begin + world_.outage) {
                return &outage;
            }
        }
        return nullptr;
    }

    static constexpr unsigned kByAccident = 1000;  // replaces the count of first sights

    struct Record {
        std::uint32_t print;
        unsigned flow;
        std::int64_t generation;
        double at;
    };

    // A master takes with it what its replica has not received.
    void lose(double at) {
        while (lost_ < outages_.size() && outages_[lost_].begin <= at) {
            const double begin = outages_[lost_++].begin;
            std::erase_if(records_, [&](const Record& record) {
                return record.at <= begin && record.at > begin - world_.replication;
            });
        }
    }

    void take(const Ask& ask, const Visit& visit, bool counts, unsigned& firsts, Outcome& out) {
        out.asks += counts ? 1 : 0;
        if (outage_at(ask.at) != nullptr) {
            out.unanswered += counts ? 1 : 0;
            ++firsts;
            forward(world_.first, counts, out);
            return;
        }
        lose(ask.at);
        const std::int64_t now = generation(ask.at);
        std::erase_if(records_, [&](const Record& record) {
            return record.generation < now - static_cast<std::int64_t>(world_.generations);
        });
        if (counts) {
            sizes_.add(static_cast<double>(records_.size()));
            out.fingerprints = sizes_.mean();
        }
        const auto same = [&](const Record& record) { return record.flow == ask.flow; };
        const auto alike = [&](const Record& record) { return record.print == prints_[ask.flow]; };
        const bool seen = std::any_of(records_.begin(), records_.end(), same);
        const bool known = seen || std::any_of(records_.begin(), records_.end(), alike);
        // Packets pass until the answer is back, including the one that caused the query.
        const double back = ask.at + visit.trip / 2 - visit.begin;
        const unsigned passed =
            std::min(world_.first, 1 + static_cast<unsigned>(std::floor(back / world_.gap)));
        if (known) {
            out.known += counts && seen ? 1 : 0;
            if (!seen && counts && firsts == 0) {
                out.false_known += 1;
                firsts = kByAccident;
            }
            forward(passed, counts, out);
        } else {
            ++firsts;
            records_.push_back({prints_[ask.flow], ask.flow, now, ask.at});
            forward(world_.first, counts, out);
        }
    }
    static void forward(unsigned packets, bool counts, Outcome& out) {
        out.forwarded += counts ? packets : 0;
    }

    const World& world_;
    const std::vector<Outage>& outages_;
    Random& random_;
    std::vector<std::uint32_t> prints_;
    std::vector<Record> records_;
    std::size_t lost_ = 0;
    Mean sizes_;
};

std::vector<Outage> outages_of(const World& world, Random& random) {
    std::vector<Outage> out;
    std::exponential_distribution<double> next(world.outages_an_hour / 3600);
    for (double at = next(random); at < world.minutes * 60; at += world.outage + next(random)) {
        out.push_back({at, uniform(random, -world.skew, world.skew)});
    }
    return out;
}

// Return the chance that the sum of two uniform times, in 0 .. a and 0 .. b, is below x.
double sum_below(double x, double a, double b) {
    const auto square = [](double value) { return value > 0 ? value * value : 0; };
    return (square(x) - square(x - a) - square(x - b) + square(x - a - b)) / (2 * a * b);
}

// Return the mean number of a flow's packets that pass at all sites except the one whose query is
// first. At each of them the packet that causes the query passes, and those until the answer is
// back. A short round trip makes a site more often the first.
double late_by_model(const World& world) {
    constexpr unsigned kSteps = 1000;
    const double half = (world.longest_trip - world.least_trip) / 2;
    double sum = 0;
    for (unsigned sites = 2; sites <= world.most_sites; ++sites) {
        for (unsigned i = 0; i < kSteps; ++i) {
            const double trip = (i + 0.5) / kSteps * 2 * half;
            const double back = world.least_trip + trip + world.gather / 2;
            const double passed = std::min<double>(world.first, 1 + std::floor(back / world.gap));
            double behind = 0;  // the chance that another query is first
            for (unsigned j = 0; j < kSteps; ++j) {
                const double at = (j + 0.5) / kSteps * world.between_sites + trip / 2;
                behind += (1 - std::pow(1 - sum_below(at, world.between_sites, half), sites - 1)) /
                          kSteps;
            }
            sum += sites * behind * passed / kSteps;
        }
    }
    return sum / world.most_sites;
}

void scale() {
    const World world;
    Random random(4);
    const double per_window = world.flows_per_minute * world.window / 60;
    const double pages = std::ceil(per_window / world.generations / world.page_flows);
    const double page_rate = world.flows_per_minute / 60 / pages;
    const double sites = (1.0 + world.most_sites) / 2;  // for each flow, mean
    std::vector<Mean> means(8);
    for (unsigned p = 0; p < world.pages; ++p) {
        Outcome out;
        const std::vector<Outage> outages = outages_of(world, random);
        Page(world, outages, random).run(page_rate, out);
        const std::array values{
            out.asks / out.flows,  out.known / out.asks,        out.unanswered / out.asks,
            out.again / out.flows, out.false_known / out.flows, out.forwarded / out.flows,
            out.fingerprints,      out.alone / out.flows};
        for (std::size_t i = 0; i < values.size(); ++i) {
            means[i].add(values[i]);
        }
    }
    const double out_share = world.outage / (3600 / world.outages_an_hour + world.outage);
    const double records = page_rate * world.window * (world.generations + 0.5) / world.generations;
    const double late = late_by_model(world);
    const double alive = 1 - out_share;
    // A flow whose first query met an outage is recorded by a later query that is answered. Queries
    // close to each other meet the same outage. What a replica lacks hardly shows.
    const std::array models{sites,
                            alive * (1 - 1 / sites),
                            out_share,
                            out_share * (1 - 1.0 / world.most_sites),
                            records * std::ldexp(1, -static_cast<int>(world.bits)) * alive,
                            alive * (world.first + late) + out_share * sites * world.first,
                            records,
                            sites * world.first};
    const std::array<const char*, 8> names{"asks a flow",
                                           "asks that are answered known",
                                           "asks that meet a master that is gone",
                                           "flows that pass at more than one site",
                                           "flows that are known by accident",
                                           "packets forwarded a flow",
                                           "fingerprints in a page",
                                           "packets forwarded a flow without a root"};
    std::cout << "quantity,simulated,low,high,model\n";
    for (std::size_t i = 0; i < names.size(); ++i) {
        std::cout << names[i] << "," << means[i].mean() << "," << means[i].mean() - means[i].error()
                  << "," << means[i].mean() + means[i].error() << "," << models[i] << "\n";
    }
    const double asks_a_second = world.flows_per_minute / 60 * means[0].mean();
    std::cout << "asks a second and site," << asks_a_second / world.sites << ",,,"
              << world.flows_per_minute / 60 * sites / world.sites << "\n";
    std::cout << "asks a second of all sites," << asks_a_second << ",,,"
              << world.flows_per_minute / 60 * sites << "\n";
    // bench/root/root_bench measured 6.9 bytes in Redis for 4 bytes of fingerprint.
    std::cout << "bytes in Redis," << means[6].mean() * pages * 6.9 << ",,,"
              << records * pages * 6.9 << "\n";
}

}  // namespace

int main(int argc, char** argv) {
    const std::map<std::string_view, void (*)()> modes{{"faults", faults},
                                                       {"slices", slices_for},
                                                       {"messages", messages},
                                                       {"fairness", fairness},
                                                       {"scale", scale}};
    const auto mode = argc == 2 ? modes.find(argv[1]) : modes.end();
    if (mode == modes.end()) {
        std::cerr << "usage: tree_simulator faults|slices|messages|fairness|scale\n";
        return 2;
    }
    std::cout.precision(6);
    mode->second();
    return 0;
}
