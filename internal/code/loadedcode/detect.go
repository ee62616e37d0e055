// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"errors"
	"slices"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/runtimes"
)

type detectedRuntimes struct {
	// detections has one entry for each detector. A kind of runtime in a module of its own ([managed.Runtime.Module])
	// has one for each found, and one to find the next.
	detections   []detection
	frameSources []managed.FrameSource
	schedulers   []managed.Scheduler
	images       map[*Image]struct{}
	unowned      bool // some code belongs to none
}

type detection struct {
	kind          int             // index in runtimes.Detectors
	runtime       managed.Runtime // nil until it is found
	reason        error           // why not
	tries         int             // since new files or run-time code appeared
	refreshesLeft int             // refreshes until the next attempt
}

// maxTries bounds the tries of a detection: at once, then after 1, 2, 4, … 64 refreshes. After [managed.ErrNotYet]
// tries go on, each 64 refreshes.
const maxTries = 8

func (d *detection) isFinal() bool {
	return d.runtime != nil || d.tries > 0 && d.reason == nil ||
		d.tries >= maxTries && !errors.Is(d.reason, managed.ErrNotYet)
}

func (d *detectedRuntimes) found(yield func(managed.Runtime) bool) {
	for i := range d.detections {
		if r := d.detections[i].runtime; r != nil && !yield(r) {
			return
		}
	}
}

// detect attaches found runtimes, and searches others if there are new files or code.
func (d *detectedRuntimes) detect(h *runtimeHost) {
	if d.detections == nil {
		for i := range runtimes.Detectors {
			d.detections = append(d.detections, detection{kind: i})
		}
	}
	for d.attach(h) {
	}
	fresh := d.newImages(h.mods) || !d.unowned && len(managed.Unowned(h)) > 0
	for i := 0; i < len(d.detections); i++ {
		if entry := &d.detections[i]; entry.runtime == nil && (fresh || entry.tries == 0) {
			entry.tries, entry.refreshesLeft = 0, 0
			d.search(i, h)
		} else {
			d.searchAgain(i, h)
		}
	}
	d.unowned = len(managed.Unowned(h)) > 0
	d.listInterfaces()
}

// attach attaches the found runtimes; released means that a lost one owned code.
func (d *detectedRuntimes) attach(h *runtimeHost) (released bool) {
	for i := range d.detections {
		if entry := &d.detections[i]; entry.runtime != nil && !entry.runtime.Attach(h) {
			released = h.release(entry.runtime) || released
			*entry = detection{kind: entry.kind}
		}
	}
	return released
}

func (d *detectedRuntimes) newImages(mods []*frames.Module) (fresh bool) {
	was := d.images
	d.images = make(map[*Image]struct{}, len(was))
	for _, m := range mods {
		if img := elfImage(m); img != nil {
			d.images[img] = struct{}{}
			_, old := was[img]
			fresh = fresh || !old
		}
	}
	return fresh
}

func (d *detectedRuntimes) search(i int, h *runtimeHost) {
	entry := &d.detections[i]
	entry.tries++
	entry.refreshesLeft = 1 << min(entry.tries-1, maxTries-2)
	entry.runtime, entry.reason = runtimes.Detectors[entry.kind](d.withoutKind(entry.kind, h))
	if entry.runtime != nil && !entry.runtime.Attach(h) {
		h.release(entry.runtime)
		entry.runtime = nil
	}
	if entry.runtime != nil && entry.runtime.Module() != nil {
		d.searchAnother(entry.kind)
	}
}

const maxOfKind = 16

func (d *detectedRuntimes) searchAnother(kind int) {
	n := 0
	for i := range d.detections {
		if entry := &d.detections[i]; entry.kind == kind {
			if n++; entry.runtime == nil {
				return
			}
		}
	}
	if n < maxOfKind {
		d.detections = append(d.detections, detection{kind: kind})
	}
}

// withoutKind returns h without the modules of the runtimes found of a kind.
func (d *detectedRuntimes) withoutKind(kind int, h *runtimeHost) *runtimeHost {
	isFound := func(m *frames.Module) bool {
		return slices.ContainsFunc(d.detections, func(entry detection) bool {
			return entry.kind == kind && entry.runtime != nil && entry.runtime.Module() == m
		})
	}
	if !slices.ContainsFunc(h.mods, isFound) {
		return h
	}
	left := *h
	left.mods = slices.DeleteFunc(slices.Clone(h.mods), isFound)
	return &left
}

func (d *detectedRuntimes) retry(h *runtimeHost) (changed bool) {
	for i := 0; i < len(d.detections); i++ {
		changed = d.searchAgain(i, h) || changed
	}
	if changed {
		d.listInterfaces()
	}
	return changed
}

// searchAgain searches if the next try is due.
func (d *detectedRuntimes) searchAgain(i int, h *runtimeHost) (found bool) {
	entry := &d.detections[i]
	if entry.isFinal() {
		return false
	}
	if entry.refreshesLeft--; entry.refreshesLeft > 0 {
		return false
	}
	d.search(i, h)
	return d.detections[i].runtime != nil
}

func (d *detectedRuntimes) starting() bool {
	return slices.ContainsFunc(d.detections, func(entry detection) bool {
		return errors.Is(entry.reason, managed.ErrNotYet) && entry.tries < maxTries && !d.has(entry.kind)
	})
}

func (d *detectedRuntimes) listInterfaces() {
	d.frameSources, d.schedulers = nil, nil
	for r := range d.found {
		if n, ok := r.(managed.FrameSource); ok {
			d.frameSources = append(d.frameSources, n)
		}
		if s, ok := r.(managed.Scheduler); ok {
			d.schedulers = append(d.schedulers, s)
		}
	}
}

func (d *detectedRuntimes) changed() (changed bool) {
	for r := range d.found {
		changed = r.Changed() || changed
	}
	return changed
}

// unreadReason returns why a language's runtime is not read. If one library of a language is read, failures of others
// of that language do not count, as the process may not use those.
func (d *detectedRuntimes) unreadReason() error {
	for i := range d.detections {
		entry := &d.detections[i]
		//nolint:errorlint // a reason of one library that is ErrNotYet of another, too, is shown
		if entry.reason != nil && entry.reason != managed.ErrNotYet && !d.has(entry.kind) {
			return entry.reason
		}
		if entry.runtime != nil && entry.runtime.Incomplete() != nil {
			return entry.runtime.Incomplete()
		}
	}
	return nil
}

func (d *detectedRuntimes) has(kind int) bool {
	return slices.ContainsFunc(d.detections, func(e detection) bool { return e.kind == kind && e.runtime != nil })
}
