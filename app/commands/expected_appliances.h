// SPDX-License-Identifier: BSD-3-Clause
// The appliances that `unecho serve --expect` lists: names, and folders of configurations.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace unecho::app {

class ExpectedAppliances {
  public:
    using Log = std::function<void(const std::string&)>;

    // A text with "/" is a folder, any other one a name. Errc::kConfig: a name cannot be one, a
    // folder cannot be read, or there are too many.
    static Result<ExpectedAppliances> parse(const std::vector<std::string>& texts);

    // Return the names, each once: those given, and those of the configurations (*.toml) that are
    // in the folders now. A file that changed is read again. `log` gets each problem once.
    std::vector<std::string> names(const Log& log);

  private:
    struct Configuration {
        std::string version;  // differs after each change of the file
        std::string name;     // of its appliance
    };
    void read_folder(const std::string& folder, const Log& log);

    std::vector<std::string> names_;
    std::map<std::string, std::map<std::string, Configuration>> folders_;  // by file
    std::map<std::string, std::string> problems_;                          // by folder or file
};

}  // namespace unecho::app
