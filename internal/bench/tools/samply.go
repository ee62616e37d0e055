package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
)

// samply samples through perf events and unwinds copies of stacks with framehop.
func samply() Tool {
	return Tool{
		Name: "samply", Kinds: []string{Native}, check: runs("samply", "scripts/setup-peers.sh builds it with cargo"),
		start: func(ctx context.Context, j *Job) (Session, error) {
			return restarted{
				command: func(file string) []string {
					return []string{
						"samply", "record", "--save-only", "--rate", strconv.FormatFloat(j.Freq, 'g', -1, 64), "--pid", strconv.Itoa(j.PID), "--output", file,
					}
				},
				sampling: func(said []byte, _ string) bool { return bytes.Contains(said, []byte("Recording")) },
				count:    firefoxSamples,
			}.start(ctx, j)
		},
	}
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
