// SPDX-License-Identifier: BSD-3-Clause
// A library for LD_PRELOAD beside failing_calls.cpp: makes DPDK calls fail, and pools run empty.
#include <array>
#include <cerrno>

#include <rte_bus_vdev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_malloc.h>
#include <rte_mbuf_dyn.h>
#include <rte_mempool.h>
#include <rte_memzone.h>
#include <rte_pdump.h>
#include <rte_ring.h>
#include <rte_telemetry.h>

#include "failing_calls.h"

namespace {

using failing::behind;
using failing::Kind;

// Return true and set rte_errno if this call shall fail.
bool fails(const char* name, int error) noexcept {
    if (!failing::fails(Kind::kDpdk, name)) {
        return false;
    }
    rte_errno = error;
    return true;
}

std::array<rte_mempool_dequeue_t, RTE_MEMPOOL_MAX_OPS_IDX> dequeues{};

int dequeue(rte_mempool* pool, void** objects, unsigned number) {
    return failing::fails(Kind::kMbuf, "rte_mempool_get_bulk")
               ? -ENOBUFS
               : dequeues[static_cast<std::size_t>(pool->ops_index)](pool, objects, number);
}

void watch(rte_mempool* pool) {
    if (pool == nullptr) {
        return;
    }
    rte_mempool_ops& ops = *rte_mempool_get_ops(pool->ops_index);
    if (ops.dequeue != &dequeue) {
        dequeues[static_cast<std::size_t>(pool->ops_index)] = ops.dequeue;
        ops.dequeue = &dequeue;
    }
}

}  // namespace

// Define a wrapper of a DPDK function that returns `failed` and sets `error` when it shall fail.
#define UNECHO_FAILS(result, name, parameters, arguments, error, failed) \
    result name parameters {                                             \
        static const auto real = behind<result parameters>(#name);       \
        return fails(#name, error) ? (failed) : real arguments;          \
    }

extern "C" {

UNECHO_FAILS(int, rte_eal_init, (int argc, char** argv), (argc, argv), ENODEV, -1)
UNECHO_FAILS(int, rte_pdump_init, (), (), ENOMEM, -1)
UNECHO_FAILS(int, rte_vdev_init, (const char* name, const char* args), (name, args), ENOMEM,
             -ENOMEM)
UNECHO_FAILS(int, rte_eth_dev_get_port_by_name, (const char* name, std::uint16_t* id), (name, id),
             ENODEV, -ENODEV)
UNECHO_FAILS(int, rte_eth_dev_info_get, (std::uint16_t id, rte_eth_dev_info* info), (id, info), EIO,
             -EIO)
UNECHO_FAILS(int, rte_eth_dev_configure,
             (std::uint16_t id, std::uint16_t rx, std::uint16_t tx, const rte_eth_conf* conf),
             (id, rx, tx, conf), EINVAL, -EINVAL)
UNECHO_FAILS(int, rte_eth_dev_set_mtu, (std::uint16_t id, std::uint16_t mtu), (id, mtu), EIO, -EIO)
UNECHO_FAILS(int, rte_eth_dev_adjust_nb_rx_tx_desc,
             (std::uint16_t id, std::uint16_t* rx, std::uint16_t* tx), (id, rx, tx), EIO, -EIO)
UNECHO_FAILS(int, rte_eth_rx_queue_setup,
             (std::uint16_t id, std::uint16_t queue, std::uint16_t descriptors, unsigned socket,
              const rte_eth_rxconf* conf, rte_mempool* pool),
             (id, queue, descriptors, socket, conf, pool), ENOMEM, -ENOMEM)
UNECHO_FAILS(int, rte_eth_tx_queue_setup,
             (std::uint16_t id, std::uint16_t queue, std::uint16_t descriptors, unsigned socket,
              const rte_eth_txconf* conf),
             (id, queue, descriptors, socket, conf), ENOMEM, -ENOMEM)
UNECHO_FAILS(int, rte_eth_dev_start, (std::uint16_t id), (id), EIO, -EIO)
UNECHO_FAILS(int, rte_eth_promiscuous_enable, (std::uint16_t id), (id), EIO, -EIO)
UNECHO_FAILS(int, rte_eth_promiscuous_disable, (std::uint16_t id), (id), EIO, -EIO)
UNECHO_FAILS(int, rte_eth_link_get_nowait, (std::uint16_t id, rte_eth_link* link), (id, link), EIO,
             -EIO)
UNECHO_FAILS(int, rte_eth_stats_get, (std::uint16_t id, rte_eth_stats* stats), (id, stats), EIO,
             -EIO)
UNECHO_FAILS(int, rte_eal_remote_launch, (lcore_function_t * run, void* argument, unsigned lcore),
             (run, argument, lcore), EBUSY, -EBUSY)
UNECHO_FAILS(int, rte_telemetry_register_cmd,
             (const char* name, telemetry_cb answer, const char* help), (name, answer, help),
             ENOMEM, -ENOMEM)
UNECHO_FAILS(int, rte_mbuf_dynfield_register, (const rte_mbuf_dynfield* field), (field), ENOENT, -1)
UNECHO_FAILS(int, rte_mbuf_dyn_rx_timestamp_register, (int* offset, std::uint64_t* flag),
             (offset, flag), ENOMEM, -1)

UNECHO_FAILS(void*, rte_malloc, (const char* type, std::size_t size, unsigned align),
             (type, size, align), ENOMEM, nullptr)
UNECHO_FAILS(void*, rte_zmalloc, (const char* type, std::size_t size, unsigned align),
             (type, size, align), ENOMEM, nullptr)
UNECHO_FAILS(void*, rte_calloc,
             (const char* type, std::size_t number, std::size_t size, unsigned align),
             (type, number, size, align), ENOMEM, nullptr)
UNECHO_FAILS(void*, rte_malloc_socket,
             (const char* type, std::size_t size, unsigned align, int socket),
             (type, size, align, socket), ENOMEM, nullptr)
UNECHO_FAILS(void*, rte_zmalloc_socket,
             (const char* type, std::size_t size, unsigned align, int socket),
             (type, size, align, socket), ENOMEM, nullptr)
UNECHO_FAILS(const rte_memzone*, rte_memzone_reserve_aligned,
             (const char* name, std::size_t size, int socket, unsigned flags, unsigned align),
             (name, size, socket, flags, align), ENOMEM, nullptr)
UNECHO_FAILS(rte_ring*, rte_ring_create,
             (const char* name, unsigned count, int socket, unsigned flags),
             (name, count, socket, flags), ENOMEM, nullptr)
UNECHO_FAILS(rte_tel_data*, rte_tel_data_alloc, (), (), ENOMEM, nullptr)

rte_mempool* rte_mempool_create(const char* name, unsigned number, unsigned size, unsigned cache,
                                unsigned private_size, rte_mempool_ctor_t* make_pool,
                                void* pool_argument, rte_mempool_obj_cb_t* make,
                                void* make_argument, int socket, unsigned flags) {
    static const auto real = behind<decltype(rte_mempool_create)>("rte_mempool_create");
    if (fails("rte_mempool_create", ENOMEM)) {
        return nullptr;
    }
    rte_mempool* const pool = real(name, number, size, cache, private_size, make_pool,
                                   pool_argument, make, make_argument, socket, flags);
    watch(pool);
    return pool;
}

}  // extern "C"
