/* Runs zlib, libcrypto and SQLite, which it loads itself; the prototypes are here so that their headers
   need not be installed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mark.h"

static volatile long sink;
static unsigned char text[20000], out[30000], back[20000];

static void *need(void *lib, const char *name)
{
	void *p = lib ? dlsym(lib, name) : NULL;
	if (!p) { fprintf(stderr, "oracle: %s: %s\n", name, dlerror()); exit(1); }
	return p;
}
#define FN(lib, ret, name, args) static ret (*name) args; if (!name) name = (ret (*) args)need(lib, #name)

static void *z, *crypto, *sqlite;

__attribute__((noinline)) static void zlib(int round)
{
	FN(z, int, compress2, (unsigned char *, unsigned long *, const unsigned char *, unsigned long, int));
	FN(z, int, uncompress, (unsigned char *, unsigned long *, const unsigned char *, unsigned long));
	FN(z, unsigned long, crc32, (unsigned long, const unsigned char *, unsigned));
	FN(z, unsigned long, adler32, (unsigned long, const unsigned char *, unsigned));
	unsigned long n = sizeof out, m = sizeof back, size = 400 + round * 137 % 4000;
	compress2(out, &n, text, size, round % 10);
	uncompress(back, &m, out, n);
	sink += crc32(0, text, size) + adler32(1, text, size);
	if (m != size || memcmp(text, back, size)) abort();
}

__attribute__((noinline)) static void digests(int round)
{
	FN(crypto, int, EVP_Digest, (const void *, size_t, unsigned char *, unsigned *, const void *, void *));
	FN(crypto, const void *, EVP_get_digestbyname, (const char *));
	static const char *names[] = { "SHA256", "MD5", "SHA1", "SHA512", "SHA3-256", "BLAKE2b512", "SHA384", "RIPEMD160", "SHAKE128" };
	unsigned n;
	const void *md = EVP_get_digestbyname(names[round % 9]);
	if (md) EVP_Digest(text, 100 + round * 61 % 1000, out, &n, md, NULL);
}

__attribute__((noinline)) static void ciphers(int round)
{
	FN(crypto, void *, EVP_CIPHER_CTX_new, (void));
	FN(crypto, void, EVP_CIPHER_CTX_free, (void *));
	FN(crypto, const void *, EVP_get_cipherbyname, (const char *));
	FN(crypto, int, EVP_EncryptInit_ex, (void *, const void *, void *, const void *, const void *));
	FN(crypto, int, EVP_EncryptUpdate, (void *, unsigned char *, int *, const unsigned char *, int));
	FN(crypto, int, EVP_EncryptFinal_ex, (void *, unsigned char *, int *));
	static const char *names[] = { "AES-256-CBC", "AES-128-CTR", "AES-256-GCM", "ChaCha20-Poly1305", "AES-128-ECB", "CAMELLIA-128-CBC", "DES-EDE3-CBC", "AES-128-XTS", "AES-192-OFB" };
	const void *c = EVP_get_cipherbyname(names[round % 9]);
	if (!c) return;
	void *x = EVP_CIPHER_CTX_new();
	int n;
	if (EVP_EncryptInit_ex(x, c, NULL, text, text + 64) == 1) {
		EVP_EncryptUpdate(x, out, &n, text, 320 + round % 7 * 64);
		EVP_EncryptFinal_ex(x, out + n, &n);
	}
	EVP_CIPHER_CTX_free(x);
}

__attribute__((noinline)) static void bignum(int round)
{
	FN(crypto, void *, BN_new, (void));
	FN(crypto, void, BN_free, (void *));
	FN(crypto, void *, BN_CTX_new, (void));
	FN(crypto, void, BN_CTX_free, (void *));
	FN(crypto, void *, BN_bin2bn, (const unsigned char *, int, void *));
	FN(crypto, int, BN_mod_exp, (void *, const void *, const void *, const void *, void *));
	FN(crypto, int, BN_mul, (void *, const void *, const void *, void *));
	FN(crypto, void *, EC_KEY_new_by_curve_name, (int));
	FN(crypto, int, EC_KEY_generate_key, (void *));
	FN(crypto, void, EC_KEY_free, (void *));
	void *c = BN_CTX_new(), *r = BN_new();
	int len = round % 2 ? 64 : 128;
	void *a = BN_bin2bn(text, len, NULL), *e = BN_bin2bn(text + 3, 4, NULL), *m = BN_bin2bn(text + 400, len, NULL);
	BN_mul(r, a, m, c);
	BN_mod_exp(r, a, e, m, c);
	BN_free(a); BN_free(e); BN_free(m); BN_free(r); BN_CTX_free(c);
	static const int curves[] = { 415, 714, 715 }; /* P-256, secp256k1, P-384 */
	void *k = EC_KEY_new_by_curve_name(curves[round % 3]);
	if (k) { EC_KEY_generate_key(k); EC_KEY_free(k); }
}

static int each(void *p, int n, char **v, char **names) { (void)p; (void)names; for (int i = 0; i < n; i++) sink += v[i] ? strlen(v[i]) : 0; return 0; }
static void *db;

__attribute__((noinline)) static void sql(int round)
{
	FN(sqlite, int, sqlite3_exec, (void *, const char *, int (*)(void *, int, char **, char **), void *, char **));
	static const char *all[] = {
		"CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, name TEXT, v REAL)",
		"INSERT INTO t(name, v) SELECT 'n' || abs(random() % 1000), random() / 3.5 FROM (VALUES(1),(2),(3),(4),(5),(6),(7),(8))",
		"SELECT name, count(*), avg(v), group_concat(id) FROM t GROUP BY name ORDER BY 2 DESC, 1 LIMIT 5",
		"CREATE INDEX IF NOT EXISTS ti ON t(name, v)",
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 20) SELECT sum(x), printf('%08.3f|%s', x / 7.0, hex(x)) FROM c",
		"UPDATE t SET v = v * 1.5 WHERE id % 3 = 0",
		"SELECT a.id, b.name FROM t a JOIN t b ON a.name = b.name WHERE a.v > 0 AND b.name LIKE 'n1%' LIMIT 10",
		"SELECT json_extract('{\"a\":[1,2,{\"b\":3.5}]}', '$.a[2].b'), date('now', '+1 month'), upper(substr('abcdef', 2, 3)), round(3.14159, 2)",
		"BEGIN; DELETE FROM t WHERE id % 7 = 1; ROLLBACK",
		"SELECT rank() OVER (ORDER BY v), name FROM t ORDER BY v LIMIT 6",
		"SELECT * FROM nowhere",
		"DELETE FROM t WHERE id < (SELECT max(id) FROM t) - 60",
	};
	sqlite3_exec(db, all[round % 12], each, NULL, NULL);
}

int main(void)
{
	for (unsigned i = 0; i < sizeof text; i++) text[i] = i * i / 7 % 61 + (i % 13 ? 'a' : ' ');
	text[527] |= 1; /* an odd modulus */
	text[463] |= 1;
	MARK("dlopen"); z = dlopen("libz.so.1", RTLD_LAZY);
	MARK(""); crypto = dlopen("libcrypto.so.3", RTLD_LAZY);
	sqlite = dlopen("libsqlite3.so.0", RTLD_LAZY);
	FN(sqlite, int, sqlite3_open, (const char *, void **));
	MARK("sqlite open"); sqlite3_open(":memory:", &db);
	for (int round = 0;; round++) {
		MARK("zlib"); zlib(round);
		MARK("sqlite"); sql(round);
		MARK("digests"); digests(round);
		MARK("ciphers"); ciphers(round);
		MARK("bignum"); bignum(round);
	}
}
