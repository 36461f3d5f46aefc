/* Bytes of a row of a panel of a product's right factor, at most. */
#define PRODUCT_BYTES (2 * SIMD_BYTES)
