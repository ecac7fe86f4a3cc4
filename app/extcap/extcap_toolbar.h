// SPDX-License-Identifier: BSD-3-Clause
// Wireshark's toolbar for `unecho extcap`, which shows packet counts during a capture, and the
// messages over two pipes that control it: 'T', 24 bits of length, number of the control, command,
// text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "options/arguments.h"

namespace unecho::app {

enum class ToolbarCommand : std::uint8_t { kInitialized = 0, kSet = 1 };

struct ToolbarMessage {
    std::uint8_t control = 0;
    ToolbarCommand command = ToolbarCommand::kSet;
    std::string text;
};

std::string toolbar_bytes(const ToolbarMessage& message);

// Extracts messages from the bytes of a pipe, which may end anywhere.
class ToolbarReader {
  public:
    // Return the messages that are complete by now. Skip bytes that are no message.
    std::vector<ToolbarMessage> take(std::string_view bytes);

  private:
    std::string rest_;
};

struct ToolbarCounts {
    std::uint64_t seen = 0;
    std::uint64_t echoes = 0;
};

// Return the description of the controls for --extcap-interfaces.
std::string toolbar_sentences();

// The pipes are Wireshark's, which may open its ends late, never, or close them at any time.
class Toolbar {
  public:
    // in: commands from Wireshark; out: to Wireshark; either may be absent. Errc::kConfig.
    static Result<Toolbar> open(const OptionText& in, const OptionText& out);
    Toolbar(Toolbar&& other) noexcept;
    Toolbar& operator=(Toolbar&&) = delete;
    ~Toolbar();

    // Return the descriptor to poll for input; -1: no more input.
    [[nodiscard]] int input() const { return in_; }
    // Read what has arrived, without waiting.
    void read();
    // Write the counts that have changed, without waiting.
    void show(const ToolbarCounts& counts);

  private:
    static constexpr std::size_t kControls = 3;

    Toolbar() = default;
    bool write(const ToolbarMessage& message);

    int in_ = -1;
    int out_ = -1;
    std::string out_path_;  // empty: none
    ToolbarReader reader_;
    std::array<std::string, kControls> shown_;
};

}  // namespace unecho::app
