// SPDX-License-Identifier: Apache-2.0

// Package peers adds to the tools of prywalk bench those that look at one language only (py-spy, austin,
// async-profiler), and two plain walkers in C. They run as package [tools] says: async-profiler and the walkers obey
// orders, py-spy and austin are restarted for each window.
package peers

import "prywalk/internal/bench/tools"

// All lists all tools but prywalk, whether or not they are here.
func All() []tools.Tool {
	return append(tools.Peers(), walkerTool("naive-walker", "-DWITH_LIBUNWIND", "-lunwind-ptrace", "-lunwind-generic",
		"-lunwind"), walkerTool("plain-walker"), pySpy(), austin(), asyncProfiler())
}
