// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"bytes"
	"context"
	"os"
	"strconv"
)

// samply samples through perf events and unwinds copies of stacks with framehop.
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

// samplyCommand runs samply so that it works in a virtual machine whose processor counts no cycles. Its way to the
// clock of the kernel is barred there, also for root, who may use it, where perf_event_paranoid is above 1. It
// takes the failure for a lack of permission. So root's samply sees 1 in that file, in a mount namespace of its
// own.
func samplyCommand(args ...string) []string {
	if os.Geteuid() != 0 {
		return append([]string{"samply"}, args...)
	}
	const script = `f=$(mktemp) && echo 1 >"$f" && mount --bind "$f" /proc/sys/kernel/perf_event_paranoid && rm "$f"; ` +
		`exec samply "$@"`
	return append([]string{"unshare", "--mount", "sh", "-c", script, "sh"}, args...)
}

// samplyStacks counts the stacks in a profile of samply, and those that reach the thread's first function. The
// profile has addresses and no names; those are looked up in the files of the process, which still runs.
func samplyStacks(text []byte, pid int) (samples, complete int64) {
	first, err := openFirstFrames(pid)
	if err != nil {
		return firefoxStacks(text, nil)
	}
	defer first.close()
	return firefoxStacks(text, first.at)
}
