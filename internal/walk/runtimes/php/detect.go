// SPDX-License-Identifier: Apache-2.0

package php

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

const (
	symGlobals = "executor_globals"
	symOffset  = "executor_globals_offset" // of thread-safe builds
	symCache   = "tsrm_get_ls_cache_tcb_offset"
	symExecute = "execute_ex"
	symModule  = "sapi_module"
)

var hasPHP = regexp.MustCompile(`^(php|php-fpm|php-cgi|phpdbg)[\d.]*$|^libphp[\d.]*\.so|php.*\.so$|frankenphp`)

var poweredBy = []byte("X-Powered-By: PHP/")

var versionText = regexp.MustCompile(`^(\d{1,2})\.(\d{1,2})\.\d{1,3}`)

// Detect implements [managed.Detector].
func Detect(h managed.Host) (managed.Runtime, error) {
	if h.Arch() != frames.X86_64 && h.Arch() != frames.ARM64 {
		return nil, nil
	}
	// FrankenPHP's program has the version, a library the rest.
	return managed.FirstOf(h, "PHP", func(m *frames.Module) (r *Runtime, found bool, err error) {
		if m.Generated || !hasPHP.MatchString(path.Base(m.Name)) {
			return nil, false, nil
		}
		r, err = detectIn(h, m)
		return r, r != nil, err
	})
}

func detectIn(h managed.Host, m *frames.Module) (*Runtime, error) {
	version := versionOf(h, m)
	if version == "" {
		return nil, nil
	}
	r := &Runtime{module: m, version: version, host: h}
	part := versionText.FindStringSubmatch(version)
	major, _ := strconv.Atoi(part[1])
	minor, _ := strconv.Atoi(part[2])
	l, ok := layoutOf(managed.ReleaseOf(major, minor))
	if !ok {
		return nil, fmt.Errorf("its version is %s; %v to %v are known", version, layouts[0].release, newestRelease)
	}
	r.layout = l
	r.fibers.php = r
	symbols := map[string]managed.Symbol{}
	for _, s := range h.OwnSymbols(m, symGlobals, symOffset, symCache, symExecute, symModule, symFiber) {
		symbols[s.Name] = s
	}
	if strings.Contains(path.Base(m.Name), ".so") {
		findCopies(h, symbols)
	}
	loop, ok := symbols[symExecute]
	if !ok || loop.Size == 0 {
		return nil, errors.New("it has no symbol " + symExecute)
	}
	r.fibers.classAt = symbols[symFiber].Addr
	r.executeEx = managed.Span{Start: loop.Addr, End: loop.Addr + loop.Size}
	if err := r.findGlobals(symbols); err != nil {
		return nil, err
	}
	if !r.findProgram(symbols) {
		return nil, managed.ErrNotYet
	}
	if r.dataReg, r.oplineReg = frames.X86R14, frames.X86R15; h.Arch() == frames.ARM64 {
		r.dataReg, r.oplineReg = 27, 28
	} else {
		r.signedChar = true
		r.findCold()
	}
	r.makePlan()
	return r, nil
}

// findCopies replaces a library's data by the program's copies (R_X86_64_COPY, R_AARCH64_COPY).
func findCopies(h managed.Host, symbols map[string]managed.Symbol) {
	for _, m := range h.Modules() {
		if m.Generated || strings.Contains(path.Base(m.Name), ".so") {
			continue
		}
		for _, s := range h.OwnSymbols(m, symGlobals, symOffset, symModule, symFiber) {
			if own, ok := symbols[s.Name]; ok && s.Exported && !s.Function && s.Size == own.Size {
				symbols[s.Name] = s
			}
		}
	}
}

func (r *Runtime) findGlobals(symbols map[string]managed.Symbol) error {
	if s, ok := symbols[symGlobals]; ok {
		r.globals = s.Addr
		if s.Size != 0 && s.Size < uint64(r.layout.current)+8 {
			return fmt.Errorf("its globals have %d bytes, which is not PHP %s", s.Size, r.version)
		}
		return nil
	}
	offset, ok := symbols[symOffset]
	cache, ok2 := symbols[symCache]
	if !ok || !ok2 {
		return errors.New("it has no symbol " + symGlobals)
	}
	if r.executorOffset = r.read64(offset.Addr); r.executorOffset == 0 {
		return managed.ErrNotYet
	}
	if r.executorOffset > 1<<20 {
		return fmt.Errorf("its globals of threads are not those of PHP %s", r.version)
	}
	var code [32]byte
	if r.host.Read(cache.Addr, code[:]) != len(code) {
		return managed.ErrNotYet
	}
	if h := r.host; h.Arch() == frames.ARM64 {
		r.tls, ok = threadLocalARM64(r.read64, cache.Addr, code[:])
	} else {
		r.tls, ok = threadLocalX86(r.read64, cache.Addr, code[:])
	}
	if !ok {
		return errors.New("how its threads find their globals is not known")
	}
	r.threadSafe = true
	r.threads.Find(r.host)
	return nil
}

// findProgram sets oneRequest for a command line program without threads of PHP. False: PHP has not started.
func (r *Runtime) findProgram(symbols map[string]managed.Symbol) bool {
	s, ok := symbols[symModule]
	if !ok {
		return true
	}
	var name [4]byte
	at := r.read64(s.Addr)
	if text := r.read64(at); text != 0 && r.host.Read(text, name[:]) == len(name) {
		r.oneRequest = !r.threadSafe && string(name[:]) == "cli\x00"
	}
	return at != 0
}

const maxData = 64 << 20 // bytes

func versionOf(h managed.Host, m *frames.Module) string {
	_, data, ok := h.Section(m, ".rodata")
	if !ok {
		return ""
	}
	data = data[:min(len(data), maxData)]
	for {
		i := bytes.Index(data, poweredBy)
		if i < 0 {
			return ""
		}
		data = data[i+len(poweredBy):]
		if v := versionText.Find(data[:min(len(data), 16)]); v != nil {
			return string(v)
		}
	}
}

const (
	maxLoop  = 256 << 10 // of execute_ex, bytes
	minJumps = 16        // jumps to the part
)

// findCold finds execute_ex.cold, which has no symbol: the target of most conditional jumps out of execute_ex.
func (r *Runtime) findCold() {
	m, size := r.module, r.executeEx.End-r.executeEx.Start
	bounds, ok := m.Calls.(frames.FunctionBounds)
	if !ok || size > maxLoop {
		return
	}
	code := make([]byte, size)
	code = code[:r.host.Read(r.executeEx.Start, code)]
	jumps := map[managed.Span]int{}
	for i := 0; i+6 <= len(code); i++ {
		if code[i] != 0x0f || code[i+1]&0xf0 != 0x80 { // jcc rel32
			continue
		}
		to := r.executeEx.Start + uint64(i) + 6 + uint64(int64(int32(binary.LittleEndian.Uint32(code[i+2:]))))
		if r.executeEx.Has(to) || to < m.Start || to >= m.End {
			continue
		}
		if start, end, ok := bounds.FuncRange(to - m.Bias); ok {
			jumps[managed.Span{Start: start + m.Bias, End: end + m.Bias}]++
		}
	}
	most := minJumps
	for part, n := range jumps {
		if n > most {
			r.cold, most = part, n
		}
	}
}
