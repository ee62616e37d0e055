// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"prywalk/internal/code"
	"prywalk/internal/profile"
)

// onTheWay gives names while the sampling goes on, on a goroutine of its own: reading the tables of a large file takes
// seconds, and the accountant must not wait. What names are looked up in belongs to one goroutine at a time, so that it
// has the files a second time.
type onTheWay struct {
	*resolver
	twins   map[*code.Image]*code.Image
	modules map[*profile.ModuleInfo]*profile.ModuleInfo
}

// nameOnTheWay begins to give names. The function that it returns ends that.
func (l *live) nameOnTheWay() (stop func()) {
	r := &onTheWay{newResolver(), map[*code.Image]*code.Image{}, map[*profile.ModuleInfo]*profile.ModuleInfo{}}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer r.close()
		l.table.Run(r, quit)
	}()
	return func() {
		close(quit)
		<-done
	}
}

func (r *onTheWay) close() {
	_ = r.Close()
	for _, t := range r.twins {
		if t != nil {
			t.Close()
		}
	}
}

// Rest lets go of what names of files that nobody runs any more were found with.
func (r *onTheWay) Rest() {
	for img, t := range r.twins {
		if !img.Unused() {
			continue
		}
		if t != nil {
			r.Forget(t)
			t.Close()
		}
		delete(r.twins, img)
	}
	clear(r.modules) // some have a twin that is gone, and they are soon made
	r.Namer.Rest()
}

// Resolve implements profile.Resolver.
func (r *onTheWay) Resolve(m *profile.ModuleInfo, addr uint64) []profile.Frame {
	own := r.modules[m]
	if own == nil {
		own = r.twin(m)
		r.modules[m] = own
	}
	return r.resolver.Resolve(own, addr)
}

// twin gives a module whose tables are this goroutine's. What tells its own names belongs to the accountant
// ([top.Names.NameGenerated]).
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
		t, ok := r.twins[at.Image]
		if !ok {
			t, _ = at.Image.Twin() // nil: its mapping's name stands for its functions
			r.twins[at.Image] = t
		}
		mapping.Image = t
	}
	module.Origin = &mapping
	own := *m
	own.Origin.Module = &module
	return &own
}
