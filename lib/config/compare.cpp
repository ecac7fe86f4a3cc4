// SPDX-License-Identifier: BSD-3-Clause
#include "config/compare.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "config/draft.h"
#include "config/load.h"
#include "config/message_text.h"

namespace unecho::config {
namespace {

// A table in each of the two files; empty: it is not there.
struct Tables {
    std::string before;
    std::string after;
    std::string called;  // in messages
    int line = 0;
};

class Comparison {
  public:
    Comparison(const Config& running, const Config& wanted) : running_(running), wanted_(wanted) {}

    std::vector<KeyDifference> all() {
        once("eal");
        ports();
        named("filter", running_.filters, wanted_.filters, ReloadEffect::kImmediate);
        named("route", running_.routes, wanted_.routes, ReloadEffect::kLive);
        for (const char* section : {"workers", "control", "audit", "state", "run"}) {
            once(section);
        }
        return std::move(out_);
    }

  private:
    void once(const std::string& section) {
        keys_of(section, {section, section, section + ".", 0});
    }

    void keys_of(const std::string& section, const Tables& tables) {
        for (const KnownKey& known : keys_) {
            if (known.section == section) {
                look(known, tables);
            }
        }
    }

    void look(const KnownKey& known, const Tables& tables) {
        const SourceValues::Value* before = said(running_, tables.before, known.key);
        const SourceValues::Value* after = said(wanted_, tables.after, known.key);
        const auto text = [&](const SourceValues::Value* value) {
            return value != nullptr ? value->text : known.fallback;
        };
        const bool same = before != nullptr && after != nullptr && before->value == after->value;
        if (same || text(before) == text(after)) {
            return;
        }
        out_.push_back(
            {tables.line, tables.called + known.key, text(before), text(after), kind_of(known)});
    }

    static const SourceValues::Value* said(const Config& config, const std::string& table,
                                           const std::string& key) {
        const auto found = config.source_values.values.find(table + "." + key);
        return table.empty() || found == config.source_values.values.end() ? nullptr
                                                                           : &found->second;
    }

    static ReloadEffect kind_of(const KnownKey& known) {
        const auto found = std::find(kReloadNames.begin(), kReloadNames.end(), known.reload);
        return static_cast<ReloadEffect>(found - kReloadNames.begin());
    }

    void ports() {
        const std::size_t common = std::min(running_.ports.size(), wanted_.ports.size());
        for (std::size_t i = 0; i < common; ++i) {
            const std::string table = element("port", i);
            keys_of("port", {table, table, "port " + in_quotes(running_.ports[i].name) + " ",
                             wanted_.ports[i].line});
        }
        for (std::size_t i = common; i < running_.ports.size(); ++i) {
            out_.push_back({0, "port " + in_quotes(running_.ports[i].name),
                            running_.ports[i].device, "", ReloadEffect::kRestart});
        }
        for (std::size_t i = common; i < wanted_.ports.size(); ++i) {
            out_.push_back({wanted_.ports[i].line, "port " + in_quotes(wanted_.ports[i].name), "",
                            wanted_.ports[i].device, ReloadEffect::kRestart});
        }
    }

    template <typename Named>
    void named(const std::string& section, const std::vector<Named>& before,
               const std::vector<Named>& after, ReloadEffect whole) {
        const auto place = [](const std::vector<Named>& list, const std::string& name) {
            const auto found = std::find_if(list.begin(), list.end(),
                                            [&](const Named& one) { return one.name == name; });
            return static_cast<std::size_t>(found - list.begin());
        };
        for (const Named& one : before) {
            if (place(after, one.name) == after.size()) {
                out_.push_back({0, section + " " + in_quotes(one.name), "there", "",
                                is_shared(one) ? ReloadEffect::kRestart : whole});
            }
        }
        for (std::size_t i = 0; i < after.size(); ++i) {
            const std::string called = section + " " + in_quotes(after[i].name);
            const std::size_t was = place(before, after[i].name);
            if (was == before.size()) {
                out_.push_back({after[i].line, called, "", "there",
                                is_shared(after[i]) ? ReloadEffect::kRestart : whole});
                continue;
            }
            const Tables tables{element(section, was), element(section, i), called + " ",
                                after[i].line};
            const std::size_t first = out_.size();
            keys_of(section, tables);
            for (std::size_t d = first; is_shared(after[i]) && d < out_.size(); ++d) {
                restart_if_shared(out_[d], tables.called);
            }
            keys_of(section + ".root", {tables.before + ".root", tables.after + ".root",
                                        tables.called + "root.", tables.line});
            keys_of(section + ".geometry", {tables.before + ".geometry", tables.after + ".geometry",
                                            tables.called + "geometry.", tables.line});
            for (std::size_t c = 0; has_class(tables, c); ++c) {
                const std::string number = fmt::format(".class[{}]", c);
                keys_of(section + ".class", {tables.before + number, tables.after + number,
                                             tables.called + number.substr(1) + ".", tables.line});
            }
        }
    }

    // Return true if a filter shares its flows with other sites.
    static bool is_shared(const Filter& filter) { return filter.root.has_value(); }
    static bool is_shared(const Route& /*route*/) { return false; }
    // Require a restart for keys that all sites must agree on, or that their shared flow store
    // needs.
    static void restart_if_shared(KeyDifference& difference, const std::string& called) {
        for (const char* const key : {"window", "key", "policy", "tunnels", "vxlan_ports", "tenant",
                                      "tags", "max_false_drop"}) {
            if (difference.key == called + key) {
                difference.reload = ReloadEffect::kRestart;
            }
        }
    }

    [[nodiscard]] bool has_class(const Tables& tables, std::size_t number) const {
        const std::string key = fmt::format(".class[{}]", number);
        return said(running_, tables.before + key, "dscp") != nullptr ||
               said(wanted_, tables.after + key, "dscp") != nullptr;
    }

    const Config& running_;
    const Config& wanted_;
    const std::vector<KnownKey> keys_ = known_keys();
    std::vector<KeyDifference> out_;
};

}  // namespace

std::vector<KeyDifference> compare(const Config& running, const Config& wanted) {
    return Comparison(running, wanted).all();
}

}  // namespace unecho::config
