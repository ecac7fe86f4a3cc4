// SPDX-License-Identifier: BSD-3-Clause
// The toolbar that Wireshark shows for `unecho extcap` while it captures, with the counts of its
// packets, and the messages over two pipes by which it is spoken to: 'T', 24 bits of length, number
// of the control, command, text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "base/result.h"

namespace unecho::app {

enum class ToolbarCommand : std::uint8_t { kInitialized = 0, kSet = 1 };

struct ToolbarMessage {
    std::uint8_t control = 0;
    ToolbarCommand command = ToolbarCommand::kSet;
    std::string text;
};

std::string toolbar_bytes(const ToolbarMessage& message);

// Messages out of the bytes of a pipe, which end anywhere.
class ToolbarReader {
  public:
    // Those that are whole by now. What is no message is left out.
    std::vector<ToolbarMessage> take(std::string_view bytes);

  private:
    std::string rest_;
};

struct ToolbarCounts {
    std::uint64_t seen = 0;
    std::uint64_t echoes = 0;
};

// What the controls are, as --extcap-interfaces tells them.
std::string toolbar_sentences();

// The pipes are Wireshark's, which may open its ends late, never, or close them at any time.
class Toolbar {
  public:
    // in: commands from Wireshark; out: to it; either may be missing. Errc::kConfig.
    static Result<Toolbar> open(const OptionText& in, const OptionText& out);
    Toolbar(Toolbar&& other) noexcept;
    Toolbar& operator=(Toolbar&&) = delete;
    ~Toolbar();

    // To wait for input on; -1: there will be none.
    [[nodiscard]] int input() const { return in_; }
    // Reads what has come, without waiting.
    void read();
    // Writes what has changed, without waiting.
    void show(const ToolbarCounts& counts);

  private:
    static constexpr std::size_t kControls = 3;

    Toolbar() = default;
    bool write(const ToolbarMessage& message);

    int in_ = -1;
    int out_ = -1;
    std::string out_path_;  // empty: there is none
    ToolbarReader reader_;
    std::array<std::string, kControls> shown_;
};

}  // namespace unecho::app
