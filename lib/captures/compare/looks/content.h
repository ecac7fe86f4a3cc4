// SPDX-License-Identifier: BSD-3-Clause
// A digest of what a NAT leaves as it is: the protocol, the IP ID, the lengths, and the transport
// header and payload without ports, checksums and ICMP identifiers. Two packets with equal content
// are probably one packet; its addresses do not count, so this is no proof.
#pragma once

#include "filters/hash/digest.h"
#include "filters/hash/secret.h"
#include "packets/parse.h"

namespace unecho::compare {

// Return 0 for packets that have too little content to be recognised: fragments, protocols without
// ports except ICMP, and packets that are not identified and have no payload.
Digest content_digest(const packet::Parsed& parsed, const hash::Secret& secret);

}  // namespace unecho::compare
