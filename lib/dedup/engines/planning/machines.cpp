// SPDX-License-Identifier: BSD-3-Clause
#include "dedup/engines/planning/machines.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/humanize.h"
#include "base/option_names.h"
#include "base/units.h"

namespace unecho::engines {

double Machines::share(double rate) const {
    return rate * (1 + margin()) / static_cast<double>(count);
}

double Machines::whole(double share) const {
    return share * static_cast<double>(count) / (1 + margin());
}

double Machines::heaviest_flow() const {
    if (count == 1) {
        return 1;
    }
    const auto n = static_cast<double>(count);
    const double m = margin();
    return std::min(1.0, m * m / (2 * n * (1 + m / 3) * std::log(n / kImbalanceChance)));
}

std::string to_text(const Machines& machines, double rate) {
    if (machines.count == 1) {
        return "";
    }
    const std::string count = std::to_string(machines.count);
    std::string text =
        rate == 0
            ? fmt::format("{} machines take together {:.3g} times the rate of each", count,
                          machines.whole(1))
            : fmt::format("{} machines for {}: each is sized for {}, where an equal share is {}",
                          count, format_rate(rate), format_rate(machines.share(rate)),
                          format_rate(rate / static_cast<double>(machines.count)));
    text += ", as a hash gives some half more than others\n";
    text += fmt::format(
        "that is enough, but for one hash in {}, as long as no flow has more than {:.2g} % of the "
        "packets; a flow is never divided: add the rate of a heavier one\n",
        format_count(static_cast<std::uint64_t>(std::lround(1 / kImbalanceChance))),
        100 * machines.heaviest_flow());
    if (machines.count > 2) {
        text +=
            fmt::format("for one machine to fail: {} {}\n", option::kMachines, machines.count - 1);
    }
    return text;
}

nlohmann::ordered_json to_json(const Machines& machines, double rate) {
    nlohmann::ordered_json out = {{"count", machines.count},
                                  {"rate_pps", nullptr},
                                  {"machine_rate_pps", nullptr},
                                  {"margin", machines.margin()},
                                  {"heaviest_flow", machines.heaviest_flow()},
                                  {"chance", machines.count == 1 ? 0 : kImbalanceChance}};
    if (rate != 0) {
        out["rate_pps"] = rate;
        out["machine_rate_pps"] = machines.share(rate);
    }
    return out;
}

}  // namespace unecho::engines
