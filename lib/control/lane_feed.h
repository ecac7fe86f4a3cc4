// SPDX-License-Identifier: BSD-3-Clause
// What a root's thread asks for on behalf of a lane, and what it tells it.
#pragma once

#include "dataplane/root_link.h"
#include "hash/digest.h"
#include "root/feed.h"

namespace unecho::control {

class LaneFeed final : public root::Feed {
  public:
    explicit LaneFeed(dataplane::RootLink& link) noexcept : link_(link) {}
    bool take(root::Ask& ask) override {
        dataplane::RootAsk one;
        if (!link_.asks.pop(one)) {
            return false;
        }
        ask = {one.flow, one.shared};
        return true;
    }
    bool tell(Digest flow) override { return link_.known.push(flow); }

  private:
    dataplane::RootLink& link_;
};

}  // namespace unecho::control
