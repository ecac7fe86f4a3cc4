// SPDX-License-Identifier: BSD-3-Clause
// report_pages FOLDER: write the pages of hand-made reports.
#include <fstream>
#include <string>

#include "captures/analyze/report/report_text.h"
#include "unit/analyze/sample_report.h"

int main(int argc, char** argv) {
    using namespace unecho::analyze;
    if (argc != 2) {
        return 2;
    }
    const auto write = [&](const char* name, const Report& report) {
        std::ofstream file(std::string(argv[1]) + "/" + name + ".html", std::ios::binary);
        file << to_html(report);
        return file.good();
    };
    const bool written = write("sample", sample_report()) && write("empty", empty_report()) &&
                         write("single", single_packet_report()) &&
                         write("no_echo", no_echo_report()) &&
                         write("same_time", same_time_report()) && write("vast", vast_report()) &&
                         write("hostile", hostile_report());
    return written ? 0 : 1;
}
