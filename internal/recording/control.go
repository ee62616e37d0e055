// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"prywalk/internal/sampler"
)

// control obeys the orders of prywalk bench, one a line: "hold" leaves the targets
// alone, "go" goes on, and whatever else changes nothing. Each is answered, when it
// has taken effect, by a line of JSON with what was done so far. When in ends, nobody
// is there to say "go": the sampler goes on, and so ends with its target.
func control(s *sampler.Sampler, in io.Reader, out io.Writer) {
	defer s.Resume()
	answers := json.NewEncoder(out)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		switch lines.Text() {
		case "hold":
			s.Hold()
			await(s, true)
		case "go":
			s.Resume()
			await(s, false)
		}
		_ = answers.Encode(s.Answer()) // who asks sees the end of the pipe
	}
}

// await waits for an order to take effect, but not for long: a sampler that has
// ended obeys none.
func await(s *sampler.Sampler, held bool) {
	for end := time.Now().Add(5 * time.Second); s.Held() != held && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}
