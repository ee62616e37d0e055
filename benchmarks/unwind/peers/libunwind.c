// SPDX-License-Identifier: Apache-2.0
/* Walks recorded stacks with libunwind, by accessors of its remote interface; usage: libunwind FILE PASSES COLDPASSES.
 *
 * The table of .eh_frame_hdr is handed over as other profilers do it: libunwind bisects it itself, reading through
 * access_mem. Its cache is global; cold walks begin with unw_flush_cache, whose time does not count. */
#include "stacks.h"

#include <libunwind.h>

extern int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
					       unw_proc_info_t *pi, int need_unwind_info, void *arg);

static const struct stack *current;

/* DWARF numbers of libunwind's registers: UNW_X86_64_RAX is 0, and so on, 16 the program counter. */
static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *v, int write, void *arg)
{
	(void)as, (void)arg;
	if (write)
		return -UNW_EREADONLYREG;
	if (reg == UNW_X86_64_RIP)
		*v = current->pc;
	else if (reg >= 0 && reg < 16)
		*v = current->regs[reg];
	else
		return -UNW_EBADREG;
	return 0;
}

/* Where the bytes of a mapped file are: by its segments. */
static const unsigned char *file_at(const struct module *m, uint64_t addr, size_t n)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)m->file;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(m->file + h->e_phoff);
	addr -= m->bias;
	for (int i = 0; i < h->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && addr >= p[i].p_vaddr && addr + n <= p[i].p_vaddr + p[i].p_filesz)
			return m->file + p[i].p_offset + (addr - p[i].p_vaddr);
	return NULL;
}

static const struct module *last_read;

static int access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *v, int write, void *arg)
{
	(void)as, (void)arg;
	if (write)
		return -UNW_EINVAL;
	uint64_t w;
	if (stack_word(current, addr, &w)) {
		*v = w;
		return 0;
	}
	const unsigned char *p = last_read ? file_at(last_read, addr, 8) : NULL;
	for (uint32_t i = 0; p == NULL && i < n_modules; i++)
		if (modules[i].file != NULL && (p = file_at(&modules[i], addr, 8)) != NULL)
			last_read = &modules[i];
	if (p == NULL)
		return -UNW_EINVAL;
	*v = word_at(p);
	return 0;
}

static const Elf64_Phdr *segment(const struct module *m, uint32_t type)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)m->file;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(m->file + h->e_phoff);
	for (int i = 0; i < h->e_phnum; i++)
		if (p[i].p_type == type)
			return &p[i];
	return NULL;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need, void *arg)
{
	struct module *m = find_module(ip);
	if (m == NULL || m->file == NULL)
		return -UNW_ENOINFO;
	const Elf64_Phdr *p = segment(m, PT_GNU_EH_FRAME);
	if (p == NULL)
		return -UNW_ENOINFO;
	const unsigned char *hdr = m->file + p->p_offset;
	/* version 1; the count in 4 bytes; the table in pairs relative to the section: what all linkers write */
	if (hdr[0] != 1 || hdr[2] != 0x03 || hdr[3] != 0x3b)
		return -UNW_ENOINFO;
	uint32_t count;
	memcpy(&count, hdr + 8, 4);
	unw_dyn_info_t di = {.format = UNW_INFO_FORMAT_REMOTE_TABLE, .start_ip = m->start, .end_ip = m->end};
	di.u.rti.segbase = m->bias + p->p_vaddr;
	di.u.rti.table_data = di.u.rti.segbase + 12;
	di.u.rti.table_len = count * 8 / sizeof(unw_word_t);
	last_read = m;
	return _Ux86_64_dwarf_search_unwind_table(as, ip, &di, pi, need, arg);
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg) { (void)as, (void)pi, (void)arg; }

static int get_dyn_info(unw_addr_space_t as, unw_word_t *list, void *arg)
{
	(void)as, (void)list, (void)arg;
	return -UNW_ENOINFO;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t r, unw_fpreg_t *v, int write, void *arg)
{
	(void)as, (void)r, (void)v, (void)write, (void)arg;
	return -UNW_EINVAL;
}

static int resume(unw_addr_space_t as, unw_cursor_t *c, void *arg)
{
	(void)as, (void)c, (void)arg;
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t as, unw_word_t a, char *b, size_t n, unw_word_t *off, void *arg)
{
	(void)as, (void)a, (void)b, (void)n, (void)off, (void)arg;
	return -UNW_ENOINFO;
}

static int walk(unw_addr_space_t as, const struct stack *s)
{
	unw_cursor_t c;
	unw_word_t ip;
	int n = 0;
	current = s;
	if (unw_init_remote(&c, as, NULL) != 0)
		return 0;
	do {
		if (unw_get_reg(&c, UNW_REG_IP, &ip) != 0)
			break;
		got[n++] = ip;
	} while (n < MAX_FRAMES && unw_step(&c) > 0);
	return n;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	load(argv[1]);
	unw_accessors_t acc = {find_proc_info, put_unwind_info, get_dyn_info, access_mem,
			       access_reg, access_fpreg, resume, get_proc_name};
	unw_addr_space_t as = unw_create_addr_space(&acc, 0);
	unw_set_caching_policy(as, UNW_CACHE_GLOBAL);
	unw_set_cache_size(as, 4096, 0); /* the default, 128 rules, is fewer than these stacks have frames */
	long frames = 0, n = 0;
	int right = 0;
	for (uint32_t i = 0; i < n_stacks; i++) {
		int k = walk(as, &stacks[i]);
		frames += k;
		right += is_right(&stacks[i], k);
	}
	int64_t from = cpu_time();
	for (int p = 0; p < atoi(argv[2]); p++)
		for (uint32_t i = 0; i < n_stacks; i++)
			n += walk(as, &stacks[i]);
	double warm = (double)(cpu_time() - from) / (n > 0 ? n : 1);
	int64_t cold = 0, cost = clock_cost();
	n = 0;
	for (int p = 0; p < atoi(argv[3]); p++)
		for (uint32_t i = 0; i < n_stacks; i++) {
			unw_flush_cache(as, 0, 0);
			from = cpu_time();
			n += walk(as, &stacks[i]);
			cold += cpu_time() - from - cost;
		}
	print_result(frames, warm, (double)cold / (n > 0 ? n : 1), right);
	return 0;
}
