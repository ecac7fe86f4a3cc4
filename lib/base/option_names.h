// SPDX-License-Identifier: BSD-3-Clause
// Names of the command-line options, each once. Commands declare options with these names, and
// messages of any module that recommend an option quote them.
#pragma once

#include <string>
#include <string_view>

namespace unecho::option {

// A name that can be joined with text: "give more " + option::kMemory + " or less".
struct Name {
    const char* text;

    operator std::string() const { return text; }
    operator std::string_view() const { return text; }
};

[[nodiscard]] inline std::string operator+(std::string before, const Name& name) {
    return before.append(name.text);
}
[[nodiscard]] inline std::string operator+(const Name& name, std::string_view after) {
    return std::string(name).append(after);
}

// Join the two names of an option as its declaration needs them.
[[nodiscard]] inline std::string both(const Name& name, const Name& other) {
    return name + "," + other;
}

// Options that define an echo.
inline constexpr Name kKey{"--key"};
inline constexpr Name kNonIp{"--non-ip"};
inline constexpr Name kTunnels{"--tunnels"};
inline constexpr Name kVxlanPorts{"--vxlan-ports"};
inline constexpr Name kTags{"--tags"};
inline constexpr Name kTenant{"--tenant"};
inline constexpr Name kKeyBytes{"--key-bytes"};
inline constexpr Name kShortIgnoreBytes{"-I"};
inline constexpr Name kIgnoreBytes{"--ignore-bytes"};
inline constexpr Name kWindow{"--window"};
inline constexpr Name kCount{"--count"};
inline constexpr Name kPolicy{"--policy"};
inline constexpr Name kFirst{"--first"};
inline constexpr Name kEditcap{"--editcap"};
inline constexpr Name kRepeats{"--repeats"};
inline constexpr Name kPoint{"--point"};
inline constexpr Name kSamePort{"--same-port"};
inline constexpr Name kUnidentified{"--unidentified"};
inline constexpr Name kViews{"--views"};
inline constexpr Name kSecondLooks{"--second-looks"};
inline constexpr Name kPasses{"--passes"};
inline constexpr Name kGroup{"--group"};

// Comparison of points.
inline constexpr Name kClocks{"--clocks"};
inline constexpr Name kNat{"--nat"};
inline constexpr Name kEveryPacket{"--every-packet"};
inline constexpr Name kMirror{"--mirror"};

// How echoes are found.
inline constexpr Name kEngine{"--engine"};
inline constexpr Name kMaxFalseDrop{"--max-false-drop"};
inline constexpr Name kRate{"--rate"};
inline constexpr Name kMemory{"--memory"};
inline constexpr Name kSeed{"--seed"};
inline constexpr Name kSeedFile{"--seed-file"};
inline constexpr Name kJobs{"--jobs"};
inline constexpr Name kShard{"--shard"};
inline constexpr Name kMerge{"--merge"};
inline constexpr Name kMachines{"--machines"};
inline constexpr Name kSpreadBy{"--spread-by"};

// Selection of input packets.
inline constexpr Name kStart{"-A"};
inline constexpr Name kLongStart{"--start"};
inline constexpr Name kStop{"-B"};
inline constexpr Name kLongStop{"--stop"};
inline constexpr Name kFilter{"--filter"};
inline constexpr Name kRecover{"--recover"};

// Network interfaces, and how they are read.
inline constexpr Name kInterface{"-i"};
inline constexpr Name kLongInterface{"--interface"};
inline constexpr Name kList{"-D"};
inline constexpr Name kLongList{"--list-interfaces"};
inline constexpr Name kShortFilter{"-f"};
inline constexpr Name kSnap{"-s"};
inline constexpr Name kLongSnap{"--snapshot-length"};
inline constexpr Name kNotPromiscuous{"-p"};
inline constexpr Name kLongNotPromiscuous{"--no-promiscuous-mode"};
inline constexpr Name kBuffer{"--buffer-size"};
inline constexpr Name kPackets{"-c"};
inline constexpr Name kLongPackets{"--packets"};

// Options that Wireshark passes to an extcap program.
inline constexpr Name kExtcapInterfaces{"--extcap-interfaces"};
inline constexpr Name kExtcapVersion{"--extcap-version"};
inline constexpr Name kExtcapDlts{"--extcap-dlts"};
inline constexpr Name kExtcapConfig{"--extcap-config"};
inline constexpr Name kExtcapInterface{"--extcap-interface"};
inline constexpr Name kExtcapFilter{"--extcap-capture-filter"};
inline constexpr Name kExtcapControlIn{"--extcap-control-in"};
inline constexpr Name kExtcapControlOut{"--extcap-control-out"};
inline constexpr Name kExtcapCapture{"--capture"};
inline constexpr Name kFifo{"--fifo"};
inline constexpr Name kWith{"--with"};
inline constexpr Name kAlone{"--alone"};

// Output files.
inline constexpr Name kWrite{"-w"};
inline constexpr Name kOutput{"-o"};
inline constexpr Name kLongOutput{"--output"};
inline constexpr Name kShortFormat{"-F"};
inline constexpr Name kFormat{"--format"};
inline constexpr Name kSplitPackets{"-c"};
inline constexpr Name kLongSplitPackets{"--split-packets"};
inline constexpr Name kSplitSeconds{"-i"};
inline constexpr Name kLongSplitSeconds{"--split-seconds"};
inline constexpr Name kFileSize{"-C"};
inline constexpr Name kLongFileSize{"--file-size"};
inline constexpr Name kFileSeconds{"-G"};
inline constexpr Name kLongFileSeconds{"--file-seconds"};
inline constexpr Name kUser{"-Z"};
inline constexpr Name kLongUser{"--user"};
inline constexpr Name kFileCount{"-W"};
inline constexpr Name kLongFileCount{"--file-count"};
inline constexpr Name kDropped{"--dropped"};
inline constexpr Name kPairs{"--pairs"};
inline constexpr Name kAudit{"--audit"};
inline constexpr Name kMark{"--mark"};
inline constexpr Name kDryRun{"--dry-run"};
inline constexpr Name kNoWait{"--no-wait"};
inline constexpr Name kMissing{"--missing"};

// Reports and messages.
inline constexpr Name kText{"--text"};
inline constexpr Name kJson{"--json"};
inline constexpr Name kToml{"--toml"};
inline constexpr Name kHtml{"--html"};
inline constexpr Name kQuiet{"--quiet"};
inline constexpr Name kVerbose{"-v"};
inline constexpr Name kLongVerbose{"--verbose"};
inline constexpr Name kLogFormat{"--log-format"};

// Duration of a run.
inline constexpr Name kDuration{"--duration"};

// Monitoring.
inline constexpr Name kListen{"--listen"};
inline constexpr Name kListenGroup{"--listen-group"};
inline constexpr Name kExpect{"--expect"};
inline constexpr Name kForget{"--forget"};
inline constexpr Name kForgetAfter{"--forget-after"};
inline constexpr Name kHistory{"--history"};
inline constexpr Name kWatch{"--watch"};
inline constexpr Name kCheck{"--check"};
inline constexpr Name kSince{"--since"};
inline constexpr Name kAcknowledge{"--acknowledge"};

// Configurations.
inline constexpr Name kStrict{"--strict"};
inline constexpr Name kTap{"--tap"};
inline constexpr Name kTool{"--tool"};
inline constexpr Name kLink{"--link"};
inline constexpr Name kDriver{"--driver"};
inline constexpr Name kForce{"--force"};

}  // namespace unecho::option
