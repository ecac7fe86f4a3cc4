// SPDX-License-Identifier: BSD-3-Clause
// The function that runs in Redis. It tests and records a batch of flows of one tag in one atomic
// call, by the clock of the master that has them.
#pragma once

#include <string_view>

namespace unecho::shared_flows {

// KEYS: the tag, whose value is the layout of all sites. ARGV: layout, span in milliseconds,
// generations, width, the most bytes of a page, "1" if known flows are renewed; then repeatedly a
// page and its fingerprints. Returns a list: a digit for each fingerprint, and the largest number
// that any was compared with.
inline constexpr std::string_view kFunctionName = "unecho_v1_check";
inline constexpr char kUnknown = '0';  // not known, but recorded now
inline constexpr char kKnown = '1';
inline constexpr char kNoRoom = '2';  // not known, and not recorded: too many in its page

// Start of the error for sites whose layouts differ.
inline constexpr std::string_view kOtherLayout = "LAYOUT ";

// Expiry, test and record use the time of the call alone, so a master that takes over continues. A
// missing page costs one table lookup; an empty batch tests the layout. All pages are read before
// the first is written: in a moving slot a page may be gone, which ends the call. Flows already
// recorded would count as known when the batch is queried again.
inline constexpr std::string_view kFunctionCode = R"lua(#!lua name=unecho_v1
local function check(keys, args)
  local call, find, sub = redis.call, string.find, string.sub
  local tag, layout = keys[1], args[1]
  local span, generations, width = tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
  local most, refresh = tonumber(args[5]), args[6] == '1'
  local time = call('TIME')
  local now = math.floor((time[1] * 1000 + time[2] / 1000) / span)
  local newest = ':' .. string.format('%.0f', now)
  local older = {}
  for g = 1, generations do older[g] = ':' .. string.format('%.0f', now - g) end
  local expiry = string.format('%.0f', span * (now + generations + 2))
  local stored = call('GET', tag)
  if stored and stored ~= layout then return redis.error_reply('LAYOUT ' .. stored) end
  local touched = not stored
  local answers, compared, writes = {}, 0, {}
  for a = 7, #args, 2 do
    local page, prints = tag .. ':' .. args[a], args[a + 1]
    local here = call('GET', page .. newest) or ''
    local lists, others = {here}, #here
    for g = 1, generations do
      local list = call('GET', page .. older[g])
      if list then
        lists[#lists + 1] = list
        others = others + #list
      end
    end
    if others > compared then compared = others end
    local added, length = {}, #here
    for p = 1, #prints, width do
      local print, at, from = sub(prints, p, p + width - 1), nil, 0
      for l = 1, #lists do
        at = find(lists[l], print, 1, true)
        while at and (at - 1) % width ~= 0 do at = find(lists[l], print, at + 1, true) end
        if at then from = l break end
      end
      local answer = at and '1' or '0'
      if not at or (refresh and from > 1) then
        if length + width <= most then
          added[#added + 1] = print
          length = length + width
        elseif not at then
          answer = '2'
        end
      end
      answers[#answers + 1] = answer
    end
    if #added > 0 then
      writes[#writes + 1] = {page .. newest, table.concat(added), #here == 0}
    end
  end
  for w = 1, #writes do
    local list, added, begins = unpack(writes[w])
    call('APPEND', list, added)
    if begins then
      call('PEXPIREAT', list, expiry)
      touched = true
    end
  end
  if touched then call('SET', tag, layout, 'PXAT', expiry) end
  return {table.concat(answers), compared / width}
end
redis.register_function('unecho_v1_check', check)
)lua";

}  // namespace unecho::shared_flows
