// SPDX-License-Identifier: BSD-3-Clause
// DPDK 23.03 over the headers of an older one, as far as the names we use differ: what compiles
// behind this header compiles with either.
#pragma once

#include <rte_config.h>
#include <rte_version.h>

#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define rte_tel_data_add_dict_u64 rte_tel_data_add_dict_uint
#define rte_tel_data_add_array_u64 rte_tel_data_add_array_uint
#define RTE_TEL_U64_VAL RTE_TEL_UINT_VAL
#include <rte_telemetry.h>
#undef rte_tel_data_add_dict_u64
#undef rte_tel_data_add_array_u64
#undef RTE_TEL_U64_VAL
#undef RTE_VER_YEAR
#undef RTE_VER_MONTH
#define RTE_VER_YEAR 23
#define RTE_VER_MONTH 3
#endif
