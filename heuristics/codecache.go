package heuristics

// The code is read in pieces of chunkSize bytes; each is held with the first bytes of the next one, so that no
// instruction is cut.
const (
	chunkBits = 10
	chunkSize = 1 << chunkBits
	chunkTail = 16
	numChunks = 16
)

// chunk is a piece of code.
type chunk struct {
	tag  uint64 // address, plus one: zero is none
	n    int
	data [chunkSize + chunkTail]byte
}

// codeCache holds the pieces of a module's code that an analysis reads.
type codeCache struct {
	code   Code
	chunks [numChunks]chunk
}

// reset forgets all pieces.
func (c *codeCache) reset(code Code) {
	c.code = code
	for i := range c.chunks {
		c.chunks[i].tag = 0
	}
}

// at gives the bytes at pc: those of one instruction at least, where there are that many.
func (c *codeCache) at(pc uint64) []byte {
	at := pc &^ (chunkSize - 1)
	k := &c.chunks[pc>>chunkBits%numChunks]
	if k.tag != at+1 {
		k.tag = at + 1
		k.n = c.read(at, k.data[:])
	}
	off := int(pc - at)
	if off >= k.n {
		return c.direct(pc, k)
	}
	return k.data[off:k.n]
}

// direct reads code whose chunk does not begin where the code does, which is so at the first bytes of a module.
func (c *codeCache) direct(pc uint64, k *chunk) []byte {
	if k.n != 0 {
		return nil
	}
	k.tag = 0
	return k.data[:c.read(pc, k.data[:chunkTail])]
}

// read calls the module's Code and distrusts its result.
func (c *codeCache) read(addr uint64, buf []byte) int {
	return max(0, min(c.code.ReadCode(addr, buf), len(buf)))
}
