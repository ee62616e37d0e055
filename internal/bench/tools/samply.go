package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strconv"
)

// samply samples through perf events and unwinds copies of stacks with framehop.
func samply() Tool {
	return Tool{
		Name: "samply", Kinds: []string{Native}, check: runs("samply", "scripts/setup-peers.sh builds it with cargo"),
		start: func(ctx context.Context, j *Job) (Session, error) {
			return restarted{
				command: func(file string) []string {
					return samplyCommand("record", "--save-only", "--rate", strconv.FormatFloat(j.Freq, 'g', -1, 64), "--pid", strconv.Itoa(j.PID), "--output", file)
				},
				sampling: func(said []byte, _ string) bool { return bytes.Contains(said, []byte("Recording")) },
				count:    firefoxSamples,
			}.start(ctx, j)
		},
	}
}

// samplyCommand runs samply so that it works in a virtual machine whose processor counts no cycles. Its way to
// the clock of the kernel is barred there, also for root, who may use it, where perf_event_paranoid is above 1: it
// takes the failure for a lack of permission. So root's samply sees 1 in that file, in a mount namespace of its own.
func samplyCommand(args ...string) []string {
	if os.Geteuid() != 0 {
		return append([]string{"samply"}, args...)
	}
	const script = `f=$(mktemp) && echo 1 >"$f" && mount --bind "$f" /proc/sys/kernel/perf_event_paranoid && rm "$f"; exec samply "$@"`
	return append([]string{"unshare", "--mount", "sh", "-c", script, "sh"}, args...)
}

// firefoxSamples counts the samples in a profile in Firefox's format.
func firefoxSamples(text []byte) (n int64) {
	var p struct {
		Threads []struct {
			Samples struct {
				Length int64 `json:"length"`
			} `json:"samples"`
		} `json:"threads"`
	}
	_ = json.Unmarshal(text, &p) // what is no profile has none
	for i := range p.Threads {
		n += p.Threads[i].Samples.Length
	}
	return n
}
