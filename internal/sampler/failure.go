package sampler

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// failure keeps the first panic of the sampler's goroutines, as an error. Any
// goroutine may use it.
type failure struct {
	mu  sync.Mutex
	err error
}

// guard, deferred, ends a panic of the calling goroutine: it keeps it as an error
// and calls stop, if that is not nil.
func (f *failure) guard(stop func()) {
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

// get gives the error.
func (f *failure) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// origin tells where the panic that is being recovered from began: the innermost
// place in this program, in one line.
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
