/* Largest size in bytes of a row of a panel: some columns of the right factor of a product. */
#define PRODUCT_BYTES (2 * SIMD_BYTES)
