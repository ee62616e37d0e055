// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"time"

	"prywalk/internal/loadedcode"
	"prywalk/internal/profile"
)

// backgroundResolver names locations on its own goroutine, as a large file takes seconds. An image's tables belong to
// one goroutine: it opens a second image of each file.
type backgroundResolver struct {
	*resolver
	private map[*loadedcode.Image]*privateImage
	modules map[*profile.ModuleInfo]*profile.ModuleInfo
	now     func() time.Time
}

type privateImage struct {
	image      *loadedcode.Image // nil: closed, or not readable
	failed     bool              // to open
	used       time.Time
	closeAfter time.Duration // time without use until it is closed
}

// Range of [privateImage].closeAfter, which doubles with each close, as reading a large file again takes a second.
const (
	minUnusedTime = 30 * time.Second
	maxUnusedTime = time.Hour
)

func newBackgroundResolver() *backgroundResolver {
	return &backgroundResolver{
		resolver: newResolver(), private: map[*loadedcode.Image]*privateImage{},
		modules: map[*profile.ModuleInfo]*profile.ModuleInfo{}, now: time.Now,
	}
}

func (l *topRun) nameInBackground() (stop func()) {
	r := newBackgroundResolver()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer r.close()
		l.liveNames.Run(r, quit)
	}()
	return func() {
		close(quit)
		<-done
	}
}

func (r *backgroundResolver) close() {
	_ = r.Close()
	for _, t := range r.private {
		if t.image != nil {
			t.image.Close()
		}
	}
}

// DropUnused closes private images. They are opened again on demand.
func (r *backgroundResolver) DropUnused() {
	now := r.now()
	for img, t := range r.private {
		over := img.Unused()
		if t.image != nil && (over || now.Sub(t.used) > t.closeAfter) {
			r.Forget(t.image)
			t.image.Close()
			t.image = nil
			t.closeAfter = min(2*t.closeAfter, maxUnusedTime)
		}
		if over {
			delete(r.private, img)
		}
	}
	clear(r.modules) // some have a closed private image
	r.Namer.DropUnused()
}

// Resolve implements profile.Resolver.
func (r *backgroundResolver) Resolve(m *profile.ModuleInfo, addr uint64) []profile.Frame {
	own := r.modules[m]
	if own == nil {
		own = r.privateModule(m)
		r.modules[m] = own
	}
	if m.Origin.Module != nil {
		if at := loadedcode.MappingOf(m.Origin.Module); at != nil && r.private[at.Image] != nil {
			r.private[at.Image].used = r.now()
		}
	}
	return r.resolver.Resolve(own, addr)
}

// privateModule returns a module with private tables. Names of self-describing code belong to the aggregator's
// goroutine ([profile.Names.NameSomeGenerated]).
func (r *backgroundResolver) privateModule(m *profile.ModuleInfo) *profile.ModuleInfo {
	if m.Origin.Module == nil {
		return m
	}
	at := loadedcode.MappingOf(m.Origin.Module)
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

// image returns a private image; nil if it cannot be opened.
func (r *backgroundResolver) image(img *loadedcode.Image) *loadedcode.Image {
	t := r.private[img]
	if t == nil {
		t = &privateImage{closeAfter: minUnusedTime}
		r.private[img] = t
	}
	if t.image == nil && !t.failed {
		var err error
		t.image, err = img.Clone()
		t.failed = err != nil
	}
	return t.image
}
