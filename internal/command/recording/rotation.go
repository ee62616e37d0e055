// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/command/console"
	"prywalk/internal/host/outfile"
	"prywalk/internal/store/profile"
)

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
	r.builder.SetComments(profile.PartComment(o.rotation.written + 1))
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
	o.state.noteComplete(o.path)
	o.rotation.prune()
	return true
}

func (o *output) reportParts() {
	if r := o.rotation; r != nil && r.written > 0 {
		console.Infof("%s were written: %s", runstats.Plural(int64(r.written+1), "recording"),
			filepath.Join(r.dir, strings.ReplaceAll(r.name, timeMark, "*")))
	}
}
