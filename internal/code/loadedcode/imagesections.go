// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"debug/elf"
	"slices"

	"prywalk/frames"
)

func (img *Image) section(name string) (addr uint64, content []byte, ok bool) {
	img.mu.Lock()
	defer img.mu.Unlock()
	s := img.ELF.Section(name)
	if s == nil {
		return 0, nil, false
	}
	data, err := img.ELF.Data(s)
	if err != nil {
		return 0, nil, false
	}
	defer img.ELF.Free(data)
	return s.Addr, slices.Clone(data), true
}

// ImageAt returns the image at an address, also under other mappings, and the file address.
func ImageAt(space *frames.Space, addr uint64) (*Image, uint64) {
	for _, m := range space.Modules() {
		img := elfImage(m)
		if img == nil {
			continue
		}
		for i := range img.ELF.Segments {
			s := &img.ELF.Segments[i]
			if s.Type == elf.PT_LOAD && addr-m.Bias-s.VAddr < s.MemSize {
				return img, addr - m.Bias
			}
		}
	}
	return nil, 0
}
