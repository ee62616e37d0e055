// SPDX-License-Identifier: Apache-2.0

package selfruntime

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Failure keeps the first panic of several goroutines as an error. Safe for concurrent use.
type Failure struct {
	mu  sync.Mutex
	err error
}

// Guard keeps a panic, and calls stop unless nil. It must be deferred.
func (f *Failure) Guard(stop func()) {
	r := recover()
	if r == nil {
		return
	}
	f.mu.Lock()
	if f.err == nil {
		f.err = fmt.Errorf("internal error: %v%s; what was seen until then is in the recording; please report this line",
			r, origin())
	}
	f.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// Get returns the error, or nil.
func (f *Failure) Get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func origin() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if strings.HasPrefix(f.Function, "prywalk") {
			return fmt.Sprintf(" at %s:%d", filepath.Base(f.File), f.Line)
		}
	}
	return ""
}
