// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/eal/ports/interface_claim.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <utility>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/errno_code.h"
#include "base/units.h"

namespace unecho::eal {
namespace {

// A claim is a packet socket on the interface for one of these two types of frame, which IEEE Std
// 802 reserves for local experiments. The kernel lists packet sockets for everybody, in one list a
// network namespace (/proc/thread-self/net/packet: that of this thread). Like AF_XDP sockets they
// need CAP_NET_RAW there: a user without privileges can see a claim, but not make one.
constexpr std::uint16_t kAloneType = 0x88b5;
constexpr std::uint16_t kSharedType = 0x88b6;
constexpr int kSocketType = SOCK_DGRAM;

// A claimant looks for others only after its own claim, so that of two at once at least one sees
// the other. If both do, both give up and try again after a random time.
constexpr int kAttempts = 8;
constexpr Nanoseconds kLongestPause = 50 * kMillisecond;

tl::unexpected<Error> fail_errno(const std::string& what) {
    const int number = errno;
    return fail(errc_from_errno(number), what + std::strerror(number));
}

Result<Descriptor> make_claim(unsigned interface, std::uint16_t frame_type) {
    Descriptor made(socket(AF_PACKET, kSocketType | SOCK_CLOEXEC, 0));
    sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
    const sock_fprog filter{1, &nothing};
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(frame_type);
    address.sll_ifindex = static_cast<int>(interface);
    if (made.get() < 0 ||
        setsockopt(made.get(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) != 0 ||
        bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        return fail_errno("it cannot be claimed: ");
    }
    return made;
}

// Return the strongest use of an interface that is listed, apart from the socket of this inode.
Result<InterfaceUse> listed_use(unsigned interface, ino_t apart_from) {
    std::ifstream list("/proc/thread-self/net/packet");
    std::string line;
    if (!std::getline(list, line)) {  // the header line
        return fail(Errc::kIo, "/proc/thread-self/net/packet cannot be read");
    }
    InterfaceUse use = InterfaceUse::kFree;
    while (std::getline(list, line)) {
        std::istringstream fields(line);
        std::string address;
        std::string references;
        int type = 0;
        unsigned frame_type = 0;
        unsigned on = 0;
        std::string running;
        std::string memory;
        std::string user;
        ino_t inode = 0;
        fields >> address >> references >> type >> std::hex >> frame_type >> std::dec >> on >>
            running >> memory >> user >> inode;
        if (!fields || type != kSocketType || on != interface || inode == apart_from) {
            continue;
        }
        if (frame_type == kAloneType) {
            return InterfaceUse::kAlone;
        }
        use = frame_type == kSharedType ? InterfaceUse::kShared : use;
    }
    return use;
}

// Return true if a process has an interface alone, other than by this claim.
Result<bool> another_claims(unsigned interface, const Descriptor& own) {
    struct stat of {};
    if (fstat(own.get(), &of) != 0) {
        return fail_errno("its claim cannot be read: ");
    }
    const auto use = listed_use(interface, of.st_ino);
    return use ? Result<bool>(*use == InterfaceUse::kAlone) : tl::unexpected(use.error());
}

}  // namespace

InterfaceUse interface_use(const std::string& interface) {
    const unsigned index = if_nametoindex(interface.c_str());
    return index == 0 ? InterfaceUse::kFree : listed_use(index, 0).value_or(InterfaceUse::kFree);
}

InterfaceClaim InterfaceClaim::share(const std::string& interface) {
    const unsigned index = if_nametoindex(interface.c_str());
    Result<Descriptor> made = index == 0 ? Descriptor() : make_claim(index, kSharedType);
    return made ? InterfaceClaim(std::move(*made)) : InterfaceClaim();
}

Result<InterfaceClaim> InterfaceClaim::take(const std::string& interface) {
    const auto refuse = [&](const Error& error) {
        return fail(error.code, fmt::format("interface {}: {}", interface, error.context));
    };
    const unsigned index = if_nametoindex(interface.c_str());
    if (index == 0) {
        return InterfaceClaim();
    }
    std::random_device random;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        Result<Descriptor> made = make_claim(index, kAloneType);
        if (!made) {
            return refuse(made.error());
        }
        const Result<bool> taken = another_claims(index, *made);
        if (!taken) {
            return refuse(taken.error());
        }
        if (!*taken) {
            return InterfaceClaim(std::move(*made));
        }
        *made = Descriptor();
        usleep(static_cast<useconds_t>(random() % (kLongestPause / kMicrosecond)));
    }
    return fail(Errc::kBusy, fmt::format("interface {} is in use by another unecho", interface));
}

}  // namespace unecho::eal
