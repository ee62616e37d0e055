// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"bytes"
	"context"
	"os"
	"strconv"
)

func samply() Tool {
	return Tool{
		Name: "samply", Kinds: []string{Native}, Check: Runs("samply", "scripts/setup-peers.sh builds it with cargo"),
		Start: func(ctx context.Context, j *Job) (Session, error) {
			return Restarted{
				Command: func(file string) []string {
					return samplyCommand("record", "--save-only", "--rate", strconv.FormatFloat(j.Freq, 'g', -1, 64), "--pid",
						strconv.Itoa(j.PID), "--output", file)
				},
				Sampling: func(said []byte, _ string) bool { return bytes.Contains(said, []byte("Recording")) },
				Count:    func(text []byte) (samples, complete int64) { return samplyStacks(text, j.PID) },
			}.Start(ctx, j)
		},
	}
}

// samplyCommand gives samply perf_event_paranoid 1 in a mount namespace: without a cycle counter its fallback clock
// needs it even for root.
func samplyCommand(args ...string) []string {
	if os.Geteuid() != 0 {
		return append([]string{"samply"}, args...)
	}
	const script = `f=$(mktemp) && echo 1 >"$f" && mount --bind "$f" /proc/sys/kernel/perf_event_paranoid && rm "$f"; ` +
		`exec samply "$@"`
	return append([]string{"unshare", "--mount", "sh", "-c", script, "sh"}, args...)
}

// samplyStacks names functions by the files of the running process.
func samplyStacks(text []byte, pid int) (samples, complete int64) {
	first, err := openFirstFrames(pid)
	if err != nil {
		return firefoxStacks(text, nil)
	}
	defer first.close()
	return firefoxStacks(text, first.at)
}
