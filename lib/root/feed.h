// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hash/digest.h"

namespace unecho::root {

// A flow that a leaf has not seen in its window: by its own digest, and by that of all sites.
struct Ask {
    Digest flow = 0;
    Digest shared = 0;
};

// A leaf: where asks come from, and where is told what others have seen. Called by the root's
// thread alone.
class Feed {
  public:
    Feed() = default;
    virtual ~Feed() = default;
    Feed(const Feed&) = delete;
    Feed& operator=(const Feed&) = delete;
    Feed(Feed&&) = delete;
    Feed& operator=(Feed&&) = delete;

    // False if there is none.
    virtual bool take(Ask& ask) = 0;
    // False if there is no room.
    virtual bool tell(Digest flow) = 0;
};

}  // namespace unecho::root
