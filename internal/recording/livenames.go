// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"time"

	"prywalk/internal/code"
	"prywalk/internal/profile"
)

// onTheWay names locations on a goroutine of its own, as reading a large file takes seconds. Tables belong to one
// goroutine, so it opens a second view of each file.
type onTheWay struct {
	*resolver
	twins   map[*code.Image]*twin
	modules map[*profile.ModuleInfo]*profile.ModuleInfo
	now     func() time.Time
}

// twin is a second view of a file.
type twin struct {
	image    *code.Image   // nil: closed, or it could not be opened
	failed   bool          // it could not be opened
	used     time.Time     // last
	patience time.Duration // it is closed after being unused for so long
}

// leastPatience and mostPatience bound the time for which unused tables are kept. It doubles each time that they are
// read again, which costs a second for a large file.
const (
	leastPatience = 30 * time.Second
	mostPatience  = time.Hour
)

func newOnTheWay() *onTheWay {
	return &onTheWay{newResolver(), map[*code.Image]*twin{}, map[*profile.ModuleInfo]*profile.ModuleInfo{}, time.Now}
}

// nameOnTheWay resolves names until stop is called.
func (l *live) nameOnTheWay() (stop func()) {
	r := newOnTheWay()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer r.close()
		l.naming.Run(r, quit)
	}()
	return func() {
		close(quit)
		<-done
	}
}

func (r *onTheWay) close() {
	_ = r.Close()
	for _, t := range r.twins {
		if t.image != nil {
			t.image.Close()
		}
	}
}

// DropUnused closes the twins of unused files. They are opened again on demand.
func (r *onTheWay) DropUnused() {
	now := r.now()
	for img, t := range r.twins {
		over := img.Unused()
		if t.image != nil && (over || now.Sub(t.used) > t.patience) {
			r.Forget(t.image)
			t.image.Close()
			t.image = nil
			t.patience = min(2*t.patience, mostPatience)
		}
		if over {
			delete(r.twins, img)
		}
	}
	clear(r.modules) // some have a closed twin
	r.Namer.DropUnused()
}

// Resolve implements profile.Resolver.
func (r *onTheWay) Resolve(m *profile.ModuleInfo, addr uint64) []profile.Frame {
	own := r.modules[m]
	if own == nil {
		own = r.twin(m)
		r.modules[m] = own
	}
	if m.Origin.Module != nil {
		if at := code.MappingOf(m.Origin.Module); at != nil && r.twins[at.Image] != nil {
			r.twins[at.Image].used = r.now()
		}
	}
	return r.resolver.Resolve(own, addr)
}

// twin gives a module with tables of this goroutine. Names of self-describing code belong to the aggregator's
// ([profile.Names.NameLate]).
func (r *onTheWay) twin(m *profile.ModuleInfo) *profile.ModuleInfo {
	if m.Origin.Module == nil {
		return m
	}
	at := code.MappingOf(m.Origin.Module)
	if at == nil {
		return m
	}
	module, mapping := *m.Origin.Module, *at
	mapping.Names = nil
	if at.Image != nil {
		mapping.Image = r.image(at.Image)
	}
	module.Origin = &mapping
	own := *m
	own.Origin.Module = &module
	return &own
}

// image gives an image's twin, nil if it could not be opened.
func (r *onTheWay) image(img *code.Image) *code.Image {
	t := r.twins[img]
	if t == nil {
		t = &twin{patience: leastPatience}
		r.twins[img] = t
	}
	if t.image == nil && !t.failed {
		var err error
		t.image, err = img.Clone()
		t.failed = err != nil
	}
	return t.image
}
