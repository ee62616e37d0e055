package code

// Twin gives the same file for another goroutine, to look names up there. Its tables are its own, and only the open
// file is shared. Close it before the cache that has the first one is closed.
func (img *Image) Twin() (*Image, error) {
	f, err := img.ELF.Again()
	if err != nil {
		return nil, err
	}
	f.Memory().Rename(img.Path)
	t := &Image{Path: img.Path, BuildID: img.BuildID, ELF: f, FromMemory: img.FromMemory, Deleted: img.Deleted}
	t.more.elf, t.more.path = f, img.Path
	return t, nil
}

// Close gives back the memory that was taken for a twin.
func (img *Image) Close() { img.release() }
