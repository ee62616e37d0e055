// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"os"
	"sync"
	"time"

	"prywalk/internal/outfile"
)

// outputState is the state of the written file. Safe for concurrent use.
type outputState struct {
	mu    sync.Mutex
	path  string
	at    time.Time // of the last write
	whole bool      // it had the whole recording
}

func (d *outputState) setPath(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.path = path
}

func (d *outputState) noteWrite(whole bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at, d.whole = time.Now(), whole
}

func (d *outputState) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.whole && d.path == "-":
		return "the whole recording was written to the standard output"
	case d.whole:
		return fmt.Sprintf("the whole recording is in %s", d.path)
	case !d.at.IsZero():
		return fmt.Sprintf("%s has the recording until %s, %s ago; the rest is lost",
			d.path, d.at.Format(time.TimeOnly), time.Since(d.at).Round(100*time.Millisecond))
	case d.path == "" || !outfile.Replaceable(d.path):
		return "the recording was not finished"
	}
	if _, err := os.Lstat(d.path); err == nil {
		return fmt.Sprintf("this recording was not written; %s is an older file", d.path)
	}
	return "nothing was written"
}
