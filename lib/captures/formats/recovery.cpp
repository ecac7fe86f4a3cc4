// SPDX-License-Identifier: BSD-3-Clause
#include "captures/formats/recovery.h"

#include <algorithm>

namespace unecho::capture {

Recovery::Step Recovery::look(ByteSpan bytes, bool ended) {
    if (searching_) {
        const Step step = search(bytes, ended);
        if (searching_ || step.sound != 0 || step.skip != 0) {
            return step;
        }
    }
    const WalkResult walked = walk(bytes, ended);
    searching_ = walked.damaged;
    suspect_ = walked.suspect;
    searched_ = 1;
    if (!walked.damaged || walked.sound != 0) {
        return {.sound = walked.sound, .need = walked.sound == 0 ? walked.need : 0};
    }
    return search(bytes, ended);
}

// A record in doubt is accepted if no other begins within it.
Recovery::Step Recovery::search(ByteSpan bytes, bool ended) {
    std::size_t at = searched_;
    ResyncCheck judged;
    for (; at < bytes.size(); ++at) {
        judged = check_resync(bytes, at, at < suspect_, ended);
        if (judged.answer != Answer::kNo) {
            break;
        }
    }
    at = std::max(at, searched_);
    if (judged.answer == Answer::kYes) {
        searching_ = false;
        at = judged.bytes;
        resync(bytes, at);
        return at < suspect_ ? Step{.skip = at} : Step{.sound = suspect_, .skip = at - suspect_};
    }
    if (at < suspect_ || at == 0) {
        searched_ = at;
        // Ask for twice the bytes at hand, so that few are moved for each one that comes.
        const std::size_t more = std::min<std::size_t>(bytes.size(), std::size_t{1} << 20U);
        return {.need = std::max({judged.bytes, suspect_, bytes.size() + more, std::size_t{1}})};
    }
    const std::size_t whole = std::min(at, bytes.size());
    const Step out{.sound = suspect_, .skip = whole - suspect_};
    searched_ = at - whole;
    suspect_ = 0;
    return out;
}

}  // namespace unecho::capture
