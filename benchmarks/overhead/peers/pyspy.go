// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"prywalk/benchmarks/bench/tools"
)

func pySpy() tools.Tool {
	return tools.Tool{
		Name: "py-spy", Kinds: []string{tools.Python}, AllThreads: true, Check: tools.Runs("py-spy", "pip install py-spy"),
		Start: func(ctx context.Context, j *tools.Job) (tools.Session, error) {
			pid := strconv.Itoa(j.PID)
			return tools.Restarted{
				Command: func(file string) []string {
					return []string{
						"py-spy", "record", "--pid", pid, "--rate", strconv.Itoa(int(j.Freq)),
						"--idle", "--threads", "--format", "raw", "--output", file,
					}
				},
				Sampling: func(said []byte, _ string) bool { return bytes.Contains(said, []byte("Sampling process")) },
				Count:    func(text []byte) (samples, complete int64) { return pySpyStacks(text, pid) },
			}.Start(ctx, j)
		},
	}
}

func pySpyStacks(text []byte, pid string) (samples, complete int64) {
	for stack, n := range folded(text) {
		samples += n
		thread, rest, _ := strings.Cut(stack, ";")
		outermost, _, _ := strings.Cut(rest, ";")
		function, _, _ := strings.Cut(outermost, " (")
		if pythonRoot(function, pySpyMain(thread, pid)) {
			complete += n
		}
	}
	return samples, complete
}

// pySpyMain reports whether "thread (TID): NAME" is the main thread. Where py-spy did not find the kernel's TID, it is
// hexadecimal; the name is Python's.
func pySpyMain(thread, pid string) bool {
	tid, name, _ := strings.Cut(strings.TrimPrefix(thread, "thread ("), ")")
	return tid == pid || name == ": MainThread"
}
