// SPDX-License-Identifier: BSD-3-Clause
// Makes the kernel treat frames of 64 bytes (60 without the checksum) as received by an interface,
// at a given rate. live_bench measures with it.
//
//     frame_injector INTERFACE PACKETS-PER-SECOND PACKETS ECHOES-PERCENT
//
// An XDP program makes the frames and passes them on; BPF_PROG_TEST_RUN runs it on live frames
// (Linux 5.18). One core so reaches more than 1 Mpps, against 0.6 Mpps by sendmmsg into the other
// end of a veth. The frames are UDP over IPv4 with their time in IP ID, address and payload.
// Buffers return, so a frame left unchanged is an echo of one of some hundred frames before it.
// Prints the number of packets sent and the seconds that it took.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <linux/bpf.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr std::size_t kLength = 60;
constexpr std::uint64_t kMinAtOnce = 256;  // a run has a fixed cost
constexpr std::uint64_t kMaxAtOnce = 1 << 16;
constexpr std::uint64_t kSecond = 1'000'000'000;

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "frame_injector: %s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

std::uint64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * kSecond +
           static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t pointer(const void* to) {
    return reinterpret_cast<std::uint64_t>(to);
}

int call(bpf_cmd command, bpf_attr& of) {
    return static_cast<int>(syscall(SYS_bpf, command, &of, sizeof(of)));
}

// Load a program that passes every frame and gives all but so many percent a new number.
int load_program(std::int32_t echoes) {
    constexpr std::uint8_t kMove = BPF_ALU64 | BPF_MOV;
    constexpr std::uint8_t kCall = BPF_JMP | BPF_CALL;
    constexpr std::uint8_t kLoad32 = BPF_LDX | BPF_MEM | BPF_W;
    constexpr std::uint8_t kStore16 = BPF_STX | BPF_MEM | BPF_H;
    constexpr std::uint8_t kStore64 = BPF_STX | BPF_MEM | BPF_DW;
    // operation, to and from (registers), offset, number
    const auto program = std::to_array<bpf_insn>({
        {kMove | BPF_X, 6, 1, 0, 0},                      // r6 = the frame's xdp_md
        {kCall, 0, 0, 0, BPF_FUNC_get_prandom_u32},       // r0 = random
        {BPF_ALU | BPF_MOD | BPF_K, 0, 0, 0, 100},        //
        {BPF_JMP | BPF_JLT | BPF_K, 0, 0, 10, echoes},    // unchanged: an echo
        {kCall, 0, 0, 0, BPF_FUNC_ktime_get_ns},          // r0 = time
        {kLoad32, 2, 6, 0, 0},                            // r2 = the frame
        {kLoad32, 3, 6, 4, 0},                            // r3 = its end
        {kMove | BPF_X, 4, 2, 0, 0},                      //
        {BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, kLength},  //
        {BPF_JMP | BPF_JGT | BPF_X, 4, 3, 4, 0},          // required by the verifier
        {kStore64, 2, 0, 42, 0},                          // payload
        {kStore16, 2, 0, 18, 0},                          // IP ID
        {BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 16},       //
        {kStore16, 2, 0, 28, 0},                          // the end of the source address
        {kMove | BPF_K, 0, 0, 0, XDP_PASS},               //
        {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
    });
    bpf_attr load{};
    load.prog_type = BPF_PROG_TYPE_XDP;
    load.insns = pointer(program.data());
    load.insn_cnt = program.size();
    load.license = pointer("BSD");
    return call(BPF_PROG_LOAD, load);
}

std::array<std::uint8_t, kLength> frame() {
    std::array<std::uint8_t, kLength> out{};
    out[0] = out[6] = 2;
    out[5] = 1;
    out[11] = 2;
    out[12] = ETHERTYPE_IP >> 8;
    out[14] = 0x45;
    out[17] = kLength - 14;
    out[22] = 64;
    out[23] = 17;
    out[26] = out[30] = 10;
    out[33] = 1;
    out[35] = 7;
    out[37] = 9;
    out[39] = kLength - 34;
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fputs("frame_injector INTERFACE PACKETS-PER-SECOND PACKETS ECHOES-PERCENT\n", stderr);
        return 2;
    }
    const double rate = std::atof(argv[2]);
    const std::uint64_t packets = std::strtoull(argv[3], nullptr, 10);
    const int echoes = std::atoi(argv[4]);
    xdp_md interface {};
    interface.ingress_ifindex = if_nametoindex(argv[1]);
    interface.data_end = kLength;
    if (interface.ingress_ifindex == 0 || rate < 1 || echoes < 0 || echoes > 100) {
        fail(argv[1]);
    }
    const int program = load_program(echoes);
    if (program < 0) {
        fail("BPF_PROG_LOAD");
    }
    const auto bytes = frame();
    const std::uint64_t begun = now();
    for (std::uint64_t sent = 0; sent < packets;) {
        const auto due = std::min(
            packets, static_cast<std::uint64_t>(static_cast<double>(now() - begun) * rate / 1e9));
        if (due < std::min(packets, sent + kMinAtOnce)) {
            continue;
        }
        const std::uint64_t n = std::min(due - sent, kMaxAtOnce);
        bpf_attr run{};
        run.test.prog_fd = static_cast<std::uint32_t>(program);
        run.test.data_in = pointer(bytes.data());
        run.test.data_size_in = bytes.size();
        run.test.ctx_in = pointer(&interface);
        run.test.ctx_size_in = sizeof(interface);
        run.test.repeat = static_cast<std::uint32_t>(n);
        run.test.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
        if (call(BPF_PROG_TEST_RUN, run) != 0) {
            fail("BPF_PROG_TEST_RUN");
        }
        sent += n;
    }
    std::printf("%llu %.3f\n", static_cast<unsigned long long>(packets),
                static_cast<double>(now() - begun) / 1e9);
    return close(program);
}
