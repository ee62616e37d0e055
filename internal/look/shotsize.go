package look

// Copied gives the bytes of stack that the look copied, further pieces such as the stack of a goroutine included. It
// does not count what was read to find them.
func (s *Shot) Copied() int64 {
	n := len(s.Mem.Stack.Bytes)
	for i := range s.Mem.Others {
		n += len(s.Mem.Others[i].Bytes)
	}
	return int64(n)
}
