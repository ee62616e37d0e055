// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"prywalk/internal/sampler"
)

// control obeys prywalk bench: a line "hold" suspends sampling, "go" resumes it, others do nothing. The answer to
// each, once it has taken effect, is a line of JSON with the present counts. The end of in resumes sampling.
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

// await waits until an order has taken effect, for a limited time since the sampler may have ended.
func await(s *sampler.Sampler, held bool) {
	for end := time.Now().Add(5 * time.Second); s.Held() != held && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}
