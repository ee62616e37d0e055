// SPDX-License-Identifier: Apache-2.0

// Package peers adds to those of package tools the ones of one language only (py-spy, austin, async-profiler), and two
// plain walkers in C. As in package [tools], async-profiler and the walkers take orders, py-spy and austin are
// restarted for each window.
package peers

import "prywalk/benchmarks/bench/tools"

// All returns all tools but prywalk, installed or not.
func All() []tools.Tool {
	return append(tools.Peers(), walkerTool("naive-walker", "-DWITH_LIBUNWIND", "-lunwind-ptrace", "-lunwind-generic",
		"-lunwind"), walkerTool("plain-walker"), pySpy(), austin(), asyncProfiler())
}
