// SPDX-License-Identifier: Apache-2.0

package heuristics

// A chunk also has the first bytes of the next one, for instructions across the border.
const (
	chunkBits = 10
	chunkSize = 1 << chunkBits
	chunkTail = 16
	numChunks = 16
)

type chunk struct {
	tag  uint64 // address + 1; 0: empty
	n    int    // bytes of code in data
	data [chunkSize + chunkTail]byte
}

type codeCache struct {
	code   Code
	chunks [numChunks]chunk
}

func (c *codeCache) reset(code Code) {
	c.code = code
	for i := range c.chunks {
		c.chunks[i].tag = 0
	}
}

func (c *codeCache) at(pc uint64) []byte {
	start := pc &^ (chunkSize - 1)
	ch := &c.chunks[pc>>chunkBits%numChunks]
	if ch.tag != start+1 {
		ch.tag = start + 1
		ch.n = c.read(start, ch.data[:])
	}
	off := int(pc - start)
	if off >= ch.n {
		return c.direct(pc, ch)
	}
	return ch.data[off:ch.n]
}

// direct reads from pc on, for a chunk that begins before the module's code.
func (c *codeCache) direct(pc uint64, ch *chunk) []byte {
	if ch.n != 0 {
		return nil
	}
	ch.tag = 0
	return ch.data[:c.read(pc, ch.data[:chunkTail])]
}

func (c *codeCache) read(addr uint64, buf []byte) int {
	return max(0, min(c.code.ReadCode(addr, buf), len(buf)))
}
