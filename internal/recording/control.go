// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"prywalk/internal/sampler"
)

// control obeys prywalk bench, one order a line: "hold" suspends sampling, "go" resumes it, others change nothing. Each
// is answered, in effect, by a line of JSON with the counts so far. When in ends, sampling goes on.
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
		_ = answers.Encode(s.Counts())
	}
}

// await waits for an order to take effect, for a limited time: a sampler may have ended.
func await(s *sampler.Sampler, held bool) {
	for end := time.Now().Add(5 * time.Second); s.Held() != held && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}
