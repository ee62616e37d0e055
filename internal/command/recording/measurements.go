// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"time"

	"prywalk/internal/account/attribute"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/sampler"
)

// serveControl executes lines of the benchmarks: "hold" suspends sampling, "go" resumes it, others do nothing. Each is
// answered, once in effect, by the present counts as a line of JSON. The end of in resumes sampling.
func serveControl(s *sampler.Sampler, in io.Reader, out io.Writer) {
	defer s.Resume()
	answers := json.NewEncoder(out)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		switch lines.Text() {
		case "hold":
			s.Hold()
			waitUntilHeld(s, true)
		case "go":
			s.Resume()
			waitUntilHeld(s, false)
		}
		_ = answers.Encode(s.Counts())
	}
}

// waitUntilHeld has a time limit, since the sampler may have ended.
func waitUntilHeld(s *sampler.Sampler, held bool) {
	for end := time.Now().Add(5 * time.Second); s.Held() != held && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// logStacks adds the functions of each stack to the log of events, with --rotate not those of evicted stacks. A write
// error ends it; the log's flush returns it.
func (r *recording) logStacks() {
	names := profile.NewNames(r.builder, nil)
	var stack []profile.Named
	for _, id := range r.builder.StackIDs() {
		stack = names.Stack(id, r.fileNames, stack[:0])
		var functions []string
		for i := range stack {
			for _, f := range stack[i].Frames {
				functions = append(functions, cmp.Or(f.Name, "?"))
			}
		}
		if attribute.WriteStack(r.samplerOpts.EventLog, id, functions) != nil {
			return
		}
	}
}
