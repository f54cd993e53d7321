// Style sheets are bundled as text (build.mjs).
declare module "*.css" {
  const text: string;
  export default text;
}
