// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"prywalk/internal/sampler"
)

// control obeys prywalk bench: "hold" suspends sampling, "go" resumes it, other lines do nothing. Each is answered,
// once in effect, by the present counts as a line of JSON. The end of in resumes.
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

// await waits for a limited time: the sampler may have ended.
func await(s *sampler.Sampler, held bool) {
	for end := time.Now().Add(5 * time.Second); s.Held() != held && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}
