// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/command/console"
	"prywalk/internal/host/outfile"
	"prywalk/internal/store/profile"
)

type output struct {
	path            string    // "-" is standard output, "" none
	page            string    // "" means none
	rotation        *rotation // nil means one file
	keepOld         bool      // until the first write
	failureReported bool
	spillReported   sync.Once
	state           outputState
}

func (r *recording) setOutput(pid int) error {
	r.output.setPath(&r.options, pid)
	for _, file := range []struct{ path, flag string }{
		{r.output.path, "-o"}, {r.output.page, "--html"}, {r.options.Stats, "--stats"},
	} {
		if file.path == "" {
			continue
		}
		if err := outfile.Check(file.path); err != nil {
			return fmt.Errorf("%w; give another place with %s", err, file.flag)
		}
	}
	if r.output.keepOld {
		if err := profile.CheckOld(r.output.path); err != nil {
			return fmt.Errorf("%w, or give another place with -o", err)
		}
	}
	return nil
}

func (o *output) setPath(options *Options, pid int) {
	now := time.Now().Format(timeFormat)
	o.path, o.page = expandPath(options.Output, pid, now), expandPath(options.Page, pid, now)
	switch {
	case console.IsStdout(o.path):
		o.path = "-"
	case (options.Rotate > 0 || options.Ring > 0) && o.path != "":
		o.rotation = newRotation(expandPath(options.Output, pid, timeMark), options.Rotate, options.Keep)
		o.path = o.rotation.path(time.Now())
	}
	o.state.setPath(o.path)
}

func (o *output) paths() string {
	if o.page == "" {
		return o.path
	}
	return o.path + ", " + o.page
}

// timeMark is in no path.
const timeMark = "\x00"

func expandPath(path string, pid int, at string) string {
	return strings.NewReplacer("%p", strconv.Itoa(pid), "%t", at, "%%", "%").Replace(path)
}

// rotation writes files named by their start. Checkpoints write the last one.
type rotation struct {
	every   time.Duration
	keep    int
	dir     string
	name    string             // with timeMark in place of the time
	written int                // complete files
	pruned  *outfile.Directory // dir at the first prune
	due     atomic.Bool
}

// timeFormat is the format of %t.
const (
	timeFormat  = "20060102-150405"
	timePattern = `[0-9]{8}-[0-9]{6}`
)

// newRotation puts a file's time in place of timeMark, or before the first dot of the file's name. Marks in the
// directory are the present time.
func newRotation(path string, every time.Duration, keep int) *rotation {
	dir, name := filepath.Dir(path), filepath.Base(path)
	if !strings.Contains(name, timeMark) {
		end := strings.IndexByte(name[1:], '.') + 1
		if end == 0 {
			end = len(name)
		}
		name = name[:end] + "-" + timeMark + name[end:]
	}
	return &rotation{every: every, keep: keep, dir: atTime(dir, time.Now()), name: name}
}

func atTime(marked string, at time.Time) string {
	return strings.ReplaceAll(marked, timeMark, at.Format(timeFormat))
}

// path returns an unused path, in an unsearchable directory the first one: the write fails with the reason.
func (r *rotation) path(at time.Time) string {
	for ; ; at = at.Add(time.Second) {
		path := filepath.Join(r.dir, atTime(r.name, at))
		if _, err := os.Lstat(path); err != nil {
			return path
		}
	}
}

// run requests a checkpoint when a part is due, until ctx ends. Parts begin at multiples of every, unless a write takes
// longer than a part.
func (r *rotation) run(ctx context.Context, requestCheckpoint func()) {
	every := time.NewTicker(r.every)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			r.due.Store(true)
			requestCheckpoint()
		}
	}
}

// prune keeps the last complete files, also of earlier runs. Other users' files do not count.
func (r *rotation) prune() {
	if r.keep <= 0 {
		return
	}
	if err := r.removeOldest(); err != nil {
		console.Errorf("old recordings stay: %v", err)
	}
}

func (r *rotation) removeOldest() (err error) {
	if r.pruned == nil {
		if r.pruned, err = outfile.HoldDirectory(r.dir); err != nil {
			return err
		}
	}
	name := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(r.name), timeMark, timePattern) + "$")
	var list []os.FileInfo
	entries, err := r.pruned.List()
	for _, e := range entries {
		if !name.MatchString(e.Name()) {
			continue
		}
		f, err := r.pruned.Open(e.Name())
		if err != nil {
			continue
		}
		if info, err := f.Stat(); err == nil && profile.BeginsLikeRecording(f) {
			list = append(list, info)
		}
		_ = f.Close()
	}
	// Not by name: when summer time ends, an hour of local time occurs twice.
	slices.SortStableFunc(list, func(a, b os.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for len(list) > r.keep {
		err = cmp.Or(r.pruned.Remove(list[0].Name()), err)
		list = list[1:]
	}
	return err
}

func (r *recording) rotateIfDue() bool {
	o := &r.output
	if !o.rotation.due.Swap(false) {
		return false
	}
	r.setComments(profile.PartComment(o.rotation.written + 1))
	if err := r.builder.Rotate(o.path, r.fileNames); err != nil {
		if !o.failureReported {
			console.Errorf("%v; it is tried again at the next checkpoint", err)
		}
		o.failureReported = true
		o.rotation.due.Store(true)
		return true
	}
	r.reportLost()
	o.rotation.written++
	o.failureReported = false
	o.path = o.rotation.path(r.builder.PartStart())
	o.state.beginPart(o.path)
	o.rotation.prune()
	return true
}

func (o *output) reportParts() {
	if r := o.rotation; r != nil && r.written > 0 {
		console.Infof("%s were written: %s", runstats.Plural(int64(r.written+1), "recording"),
			filepath.Join(r.dir, strings.ReplaceAll(r.name, timeMark, "*")))
	}
}

// outputState is the state of the written file. Safe for concurrent use.
type outputState struct {
	mu       sync.Mutex
	path     string
	written  time.Time
	complete bool // the last write completed the recording
	parts    int  // complete files before this one
}

func (s *outputState) setPath(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.path = path
}

func (s *outputState) beginPart(next string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts++
	s.path, s.written, s.complete = next, time.Time{}, false
}

func (s *outputState) recordWrite(complete bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written, s.complete = time.Now(), complete
}

func (s *outputState) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.complete && s.path == "-":
		return "the whole recording was written to the standard output"
	case s.complete:
		return fmt.Sprintf("the whole recording is in %s", s.path)
	case !s.written.IsZero():
		return fmt.Sprintf("%s has the recording until %s, %s ago; the rest is lost",
			s.path, s.written.Format(time.TimeOnly), time.Since(s.written).Round(100*time.Millisecond))
	case s.parts > 0:
		return fmt.Sprintf("the parts before %s are complete (%d); the rest is lost", s.path, s.parts)
	case s.path == "" || !outfile.Replaceable(s.path):
		return "the recording was not finished"
	}
	if _, err := os.Lstat(s.path); err == nil {
		return fmt.Sprintf("this recording was not written; %s is an older file", s.path)
	}
	return "nothing was written"
}
