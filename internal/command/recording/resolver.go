// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/command/console"
	"prywalk/internal/store/profile"
)

type resolver struct {
	*symbols.Namer
	lookedUp  atomic.Int64    // number of addresses since begin
	skipNames <-chan struct{} // names are skipped once it is closed; nil if they never are
	skipped   int
	buf       []symbols.Frame
	kernel    *symbols.KernelNames // nil until it is read
	// lacksKernel takes why the functions of the kernel have no names.
	lacksKernel func(why string)
}

func newResolver() *resolver {
	return &resolver{Namer: symbols.NewNamer(), lacksKernel: func(why string) { console.Infof("%s", why) }}
}

// begin begins a write, in which unknown names are skipped once skipNames is closed.
func (r *resolver) begin(skipNames <-chan struct{}) {
	r.lookedUp.Store(0)
	r.skipNames, r.skipped = skipNames, 0
}

// runNames resolves names on a goroutine of its own until quit is closed.
func runNames(names *profile.Names, quit <-chan struct{}) {
	r := newBackgroundResolver()
	defer r.close()
	names.Run(r, quit)
}

// Resolve implements [profile.Resolver].
func (r *resolver) Resolve(m *profile.ModuleInfo, addr uint64) []profile.Frame {
	r.lookedUp.Add(1)
	select {
	case <-r.skipNames:
		r.skipped++
		return nil
	default: // also if skipNames is nil
	}
	switch o := &m.Origin; {
	case o.Kernel:
		return r.kernelFrames(addr)
	case o.Module == nil:
		return nil
	}
	r.buf = r.Frames(m.Origin.Module, m.Origin.PID, addr, r.buf[:0])
	return slices.Clone(r.buf)
}

// IsFinal implements profile.FinalResolver.
func (r *resolver) IsFinal(m *profile.ModuleInfo) bool {
	mod := m.Origin.Module
	return mod != nil && r.skipped == 0 && r.NamesFinal(mod)
}

func (r *resolver) kernelFrames(addr uint64) []profile.Frame {
	if r.kernel == nil {
		names, err := symbols.ReadKernelNamesOnce()
		if err != nil {
			r.lacksKernel(fmt.Sprintf("%v; kernel frames are shown without names, except to root with "+
				"sysctl kernel.kptr_restrict=1", err))
			names = &symbols.KernelNames{}
		}
		r.kernel = names
	}
	if name := r.kernel.Name(addr); name != "" {
		return []profile.Frame{{Name: name}}
	}
	return nil
}

// backgroundResolver has its own goroutine, as a large file takes seconds. An image's tables belong to one goroutine,
// so it opens a second image of each file.
type backgroundResolver struct {
	*resolver
	private map[*loadedcode.Image]*privateImage
	modules map[*profile.ModuleInfo]*profile.ModuleInfo
	now     func() time.Time
	// others names code without a file. Without it the mapping's name is the only one.
	others func(m *profile.ModuleInfo, addr uint64) []profile.Frame
}

type privateImage struct {
	image  *loadedcode.Image // nil if it is closed, or unreadable
	failed bool
	used   time.Time
}

// closeAfter is the time without use until an image is closed: reading a large file again takes a second.
const closeAfter = 5 * time.Minute

func newBackgroundResolver() *backgroundResolver {
	return &backgroundResolver{
		resolver: newResolver(), private: map[*loadedcode.Image]*privateImage{},
		modules: map[*profile.ModuleInfo]*profile.ModuleInfo{}, now: time.Now,
	}
}

func (r *backgroundResolver) close() {
	_ = r.Close()
	for _, p := range r.private {
		if p.image != nil {
			p.image.Close()
		}
	}
}

// DropUnused closes unused private images. They are opened again on demand.
func (r *backgroundResolver) DropUnused() {
	now := r.now()
	for img, p := range r.private {
		unused := img.Unused()
		if p.image != nil && (unused || now.Sub(p.used) > closeAfter) {
			r.Forget(p.image)
			p.image.Close()
			p.image = nil
		}
		if unused {
			delete(r.private, img)
		}
	}
	clear(r.modules) // some have a closed private image
	r.Namer.DropUnused()
}

// Resolve implements profile.Resolver.
func (r *backgroundResolver) Resolve(m *profile.ModuleInfo, addr uint64) []profile.Frame {
	var mapping *loadedcode.Mapping
	if m.Origin.Module != nil {
		mapping = loadedcode.MappingOf(m.Origin.Module)
	}
	if r.others != nil && mapping != nil && mapping.Image == nil {
		return r.others(m, addr)
	}
	private := r.modules[m]
	if private == nil {
		private = r.privateModule(m, mapping)
		r.modules[m] = private
	}
	if mapping != nil && r.private[mapping.Image] != nil {
		r.private[mapping.Image].used = r.now()
	}
	return r.resolver.Resolve(private, addr)
}

func (r *backgroundResolver) privateModule(m *profile.ModuleInfo, shared *loadedcode.Mapping) *profile.ModuleInfo {
	if shared == nil {
		return m
	}
	private, module, mapping := *m, *m.Origin.Module, *shared
	if shared.Image != nil {
		mapping.Image = r.image(shared.Image)
	}
	module.Origin, private.Origin.Module = &mapping, &module
	return &private
}

func (r *backgroundResolver) image(img *loadedcode.Image) *loadedcode.Image {
	p := r.private[img]
	if p == nil {
		p = &privateImage{}
		r.private[img] = p
	}
	if p.image == nil && !p.failed {
		var err error
		p.image, err = img.Clone()
		p.failed = err != nil
	}
	return p.image
}
