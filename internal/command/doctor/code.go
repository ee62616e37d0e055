// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"prywalk/internal/code/elffile"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/unnamedcode"
	"prywalk/internal/walk/managed"
)

// code reports whether generated code gets names; nothing for unknown runtimes.
func (c *checker) code() Finding {
	var files []string
	for _, m := range c.opened.Space().Modules() {
		if at := loadedcode.MappingOf(m); at != nil && at.Path != "" && !slices.Contains(files, at.Path) {
			files = append(files, at.Path)
		}
	}
	hint, known := unnamedcode.ForFiles(files)
	if !known {
		return Finding{}
	}
	why := c.opened.Runtimes().Incomplete()
	switch named := c.namedRuntimes(files); {
	case len(named) > 0 && why != nil:
		return c.nameless(&hint, fmt.Sprintf("%s: %v", strings.Join(named, ", "), why))
	case len(named) == 1:
		return finding(OK, named[0]+": functions have names and lines, from its own tables", "")
	case len(named) > 1:
		return finding(OK, fmt.Sprintf("%s: functions have names and lines, from their own tables; "+
			"in a thread with frames of several only those of one", strings.Join(named, ", ")), "")
	}
	if c.hasPerfMap() {
		return finding(OK, hint.Runtime+": /tmp/perf-PID.map names its code", "")
	}
	if why != nil {
		return c.nameless(&hint, fmt.Sprintf("%s: %v", hint.Runtime, why))
	}
	return c.nameless(&hint, fmt.Sprintf("%s: %s, without names", hint.Runtime, hint.Code))
}

// namedRuntimes are those with names, of the files' languages.
func (c *checker) namedRuntimes(files []string) (names []string) {
	sources := c.opened.Runtimes().FrameSources()
	for hint := range unnamedcode.AllForFiles(files) {
		i := slices.IndexFunc(sources, func(n managed.FrameSource) bool { return hint.HasNames([]string{"[" + n.Name()}) })
		if i >= 0 {
			names = append(names, sources[i].Name())
		}
	}
	return names
}

func (c *checker) nameless(hint *unnamedcode.Hint, detail string) Finding {
	return finding(OK, detail, "to get names: "+hint.Remedy(c.subject.PID, "record"))
}

func (c *checker) hasPerfMap() bool {
	f, err := (&loadedcode.TrustedFiles{PID: c.subject.PID}).PerfMap()
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

func (c *checker) images() (all []*loadedcode.Image) {
	seen := map[*loadedcode.Image]bool{}
	for _, m := range c.opened.Space().Modules() {
		at := loadedcode.MappingOf(m)
		if at == nil || at.Image == nil || at.Path == "[vdso]" || seen[at.Image] {
			continue
		}
		seen[at.Image] = true
		all = append(all, at.Image)
	}
	return all
}

func (c *checker) names() Finding {
	images := c.images()
	symbols, debug := 0, 0
	for _, img := range images {
		complete := c.system.debugFile(img.BuildID) || hasSection(img.ELF, ".gopclntab", ".data.rel.ro.gopclntab") // of Go
		if complete || hasSection(img.ELF, ".gnu_debugdata") || hasMoreThanExports(img.ELF) {
			symbols++
		}
		if complete || img.ELF.DebugSection("info") != nil {
			debug++
		}
	}
	f := finding(OK, fmt.Sprintf("of %d files, %d have all function names, %d also lines and inlined calls", len(images),
		symbols, debug), "")
	if symbols < len(images) {
		f.Remedy = "for more names install the packages' debug symbols (…-dbgsym, …-debuginfo), or give a file to " +
			"prywalk report --symbols"
	}
	return f
}

// hasMoreThanExports reports whether the symbol table was not reduced to the exported symbols.
func hasMoreThanExports(f *elffile.File) bool {
	all, exported := f.Section(".symtab"), f.Section(".dynsym")
	return all != nil && (exported == nil || all.Size > exported.Size)
}

func hasSection(f *elffile.File, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return f.Section(name) != nil })
}

func (s *system) debugFile(id string) bool {
	return len(id) > 2 && s.exists(filepath.Join("usr/lib/debug/.build-id", id[:2], id[2:]+".debug"))
}

func (c *checker) unreadable() Finding {
	n := 0
	for _, img := range c.images() {
		if img.FromMemory {
			n++
		}
	}
	if n == 0 {
		return finding(OK, "all can be read", "")
	}
	return finding(Warn,
		fmt.Sprintf("%d were deleted, replaced or cannot be opened; they are read from memory, with fewer names", n),
		"run prywalk with the capability CHECKPOINT_RESTORE or SYS_ADMIN, or restart the target")
}
