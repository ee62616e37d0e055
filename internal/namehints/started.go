package namehints

import "regexp"

// firstWord matches what two names of one program have in common.
var firstWord = regexp.MustCompile(`^[a-zA-Z]{3,}`)

// commSize is the length from which on the kernel cuts a process's name (TASK_COMM_LEN in linux/sched.h, less one).
const commSize = 15

// StartedAs reports whether a process's name is that by which people know the program in a file, as redis-server is
// a link to redis-check-rdb on Debian. It is believed if both begin with the same word.
func StartedAs(file, comm string) bool {
	word := firstWord.FindString(file)
	return word != "" && word == firstWord.FindString(comm) && comm != file && len(comm) < commSize
}
